// Paths of optimisers on f(x) = max(0, nu x1, x2), computed here from their definitions.
"use strict";
(() => {
    const byId = (id) => document.getElementById(id);
    const most = 5000; // iterations

    const value = (x, nu) => Math.max(0, nu * x[0], x[1]);

    // The mean of the slopes of the planes that attain the maximum.
    function subgradient(x, nu) {
        const f = value(x, nu);
        const slopes = [[0, 0], [nu, 0], [0, 1]].filter((_, j) => [0, nu * x[0], x[1]][j] === f);
        return [0, 1].map((i) => slopes.reduce((sum, s) => sum + s[i], 0) / slopes.length);
    }

    // The point of the segment from a to b closest to p.
    function onSegment(p, a, b) {
        const d = [b[0] - a[0], b[1] - a[1]];
        const along = ((p[0] - a[0]) * d[0] + (p[1] - a[1]) * d[1]) / (d[0] * d[0] + d[1] * d[1]);
        const t = Math.min(1, Math.max(0, along));
        return [a[0] + t * d[0], a[1] + t * d[1]];
    }

    // lambda (x - prox(x)): the projection of lambda x onto the triangle of all subgradients.
    function proximal(x, nu, lambda) {
        const p = [lambda * x[0], lambda * x[1]];
        if (p[0] >= 0 && p[1] >= 0 && p[0] / nu + p[1] <= 1) {
            return p;
        }
        const far = (q) => Math.hypot(q[0] - p[0], q[1] - p[1]);
        return [[[0, 0], [nu, 0]], [[nu, 0], [0, 1]], [[0, 1], [0, 0]]]
            .map(([a, b]) => onSegment(p, a, b))
            .reduce((best, q) => (far(q) < far(best) ? q : best));
    }

    // Step rules: direction in, move out.
    const rules = {
        plain: () => (g) => g,
        momentum: (alpha) => {
            let v = [0, 0];
            return (g) => (v = v.map((vi, i) => alpha * vi + g[i]));
        },
        nesterov: (alpha) => {
            let v = [0, 0];
            return (g) => {
                v = v.map((vi, i) => alpha * vi + g[i]);
                return v.map((vi, i) => g[i] + alpha * vi);
            };
        },
        adam: () => {
            let m = [0, 0], s = [0, 0], t = 0;
            return (g) => {
                t++;
                m = m.map((mi, i) => 0.9 * mi + (1 - 0.9) * g[i]);
                s = s.map((si, i) => 0.999 * si + (1 - 0.999) * g[i] * g[i]);
                return m.map((mi, i) => mi / (1 - 0.9 ** t) / (Math.sqrt(s[i] / (1 - 0.999 ** t)) + 1e-8));
            };
        },
    };

    const methods = [
        { name: "prox", colour: "--prox", rule: rules.plain, prox: true, width: 0.03 },
        { name: "gradient descent", colour: "--gd", rule: rules.plain, width: 0.008 },
        { name: "momentum", colour: "--momentum", rule: rules.momentum, width: 0.01 },
        { name: "Nesterov", colour: "--nesterov", rule: rules.nesterov, width: 0.008 },
        { name: "Adam", colour: "--adam", rule: rules.adam, width: 0.008 },
    ];

    function walk(method, start, nu, eta, alpha) {
        const move = method.rule(alpha);
        const points = [start];
        let x = start;
        while (value(x, nu) > 0 && points.length <= most) {
            const g = method.prox ? proximal(x, nu, 1 / eta) : subgradient(x, nu);
            const d = move(g);
            x = [x[0] - eta * d[0], x[1] - eta * d[1]];
            points.push(x);
        }
        return points;
    }

    function measure(points, nu) {
        let crossings = 0, length = 0, last = 0;
        points.forEach((x, k) => {
            const d = nu * x[0] - x[1];
            if (value(x, nu) > 0 && Math.abs(d) > 1e-9) {
                crossings += d * last < 0 ? 1 : 0;
                last = d;
            }
            length += k ? Math.hypot(x[0] - points[k - 1][0], x[1] - points[k - 1][1]) : 0;
        });
        const a = points[0], b = points[points.length - 1];
        const reached = points.findIndex((x) => value(x, nu) <= 1e-6);
        return { crossings, detour: length / Math.hypot(b[0] - a[0], b[1] - a[1]), reached };
    }

    // The figure: x2 grows upwards, SVG's y downwards.
    const line = (points, style) =>
        `<polyline points="${points.map((x) => `${x[0].toFixed(4)},${(-x[1]).toFixed(4)}`).join(" ")}" ` +
        `fill="none" stroke-linejoin="round" ${style}/>`;

    function background(nu) {
        let drawing = '<rect x="-2" y="0" width="2" height="2" fill="var(--flat)"/>';
        for (let c = 0.2; c < 5; c += 0.2) {
            drawing += line([[-2, c], [c / nu, c], [c / nu, -2]], 'stroke="var(--line)" stroke-width="0.006"');
        }
        return drawing + line([[0, 0], [4, 4 * nu]],
            'stroke="var(--ridge)" stroke-width="0.008" stroke-dasharray="0.01 0.03"') +
            '<text x="-0.3" y="0.3" font-size="0.1" text-anchor="middle" fill="var(--soft)">f = 0</text>';
    }

    let start = [2, 0.73];

    function draw() {
        const nu = Number(byId("nu-slider").value);
        const eta = Number((10 ** Number(byId("eta-slider").value)).toPrecision(2));
        const alpha = Number(byId("alpha-slider").value);
        byId("nu-value").textContent = nu.toFixed(2);
        byId("eta-value").textContent = eta;
        byId("alpha-value").textContent = alpha.toFixed(2);
        let drawing = background(nu);
        let rows = "<thead><tr><th>method</th><th>iterations to 1e-6</th><th>ridge crossings</th>" +
            "<th>path / straight way</th></tr></thead><tbody>";
        for (const method of methods) {
            const points = walk(method, start, nu, eta, alpha);
            const m = measure(points, nu);
            drawing += line(points, `id="path-${method.name.replace(" ", "-")}" ` +
                `stroke="var(${method.colour})" stroke-width="${method.width}"`);
            rows += `<tr data-method="${method.name}"><td><span class="swatch" style="background:var(${method.colour})">` +
                `</span>${method.name}</td><td>${m.reached < 0 ? "-" : m.reached}</td>` +
                `<td>${m.crossings}</td><td>${points.length > 1 ? m.detour.toFixed(3) : "-"}</td></tr>`;
        }
        drawing += `<circle cx="${start[0]}" cy="${-start[1]}" r="0.025" fill="var(--text)"/>`;
        byId("nu-figure").innerHTML = drawing;
        byId("nu-table").innerHTML = rows + "</tbody>";
    }

    byId("nu-figure").addEventListener("click", (event) => {
        const matrix = byId("nu-figure").getScreenCTM().inverse();
        const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
        start = [at.x, -at.y];
        draw();
    });
    for (const name of ["nu", "eta", "alpha"]) {
        byId(`${name}-slider`).addEventListener("input", draw);
    }
    draw();
})();
