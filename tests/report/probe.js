// Moves the sliders as a reader would, and writes down what the page shows then.
"use strict";
(() => {
    const set = (id, value) => {
        const slider = document.getElementById(id);
        slider.value = value;
        slider.dispatchEvent(new Event("input"));
    };
    const curve = () => document.getElementById("path-momentum").getAttribute("points");
    const lines = [];
    let moved = true;
    for (const [id, value, back] of [["nu-slider", 0.5, 1.3], ["eta-slider", -1, -1.3], ["alpha-slider", 0.3, 0.7]]) {
        const before = curve();
        set(id, value);
        moved = moved && curve() !== before;
        set(id, back);
        moved = moved && curve() === before;
    }
    lines.push(`the slider moves the curve: ${moved ? "yes" : "no"}`);
    // Wide tables and figures scroll inside the page; the page itself must not. (A window of
    // headless Chromium has 500 pixels at least, so the page is made narrow instead.)
    document.documentElement.style.width = "360px";
    lines.push(`the page fits a phone: ${document.body.scrollWidth <= 360 ? "yes" : "no"}`);
    document.documentElement.style.width = "";
    for (const nu of [0.7, 1, 1.3]) {
        set("nu-slider", nu);
        for (const row of document.querySelectorAll("#nu-table tr[data-method]")) {
            const cells = [...row.children].slice(1).map((cell) => cell.textContent);
            lines.push([nu.toFixed(1), row.dataset.method, ...cells].join(","));
        }
    }
    const pre = document.createElement("pre");
    pre.id = "probe";
    pre.textContent = "\n" + lines.join("\n") + "\n";
    document.body.append(pre);
})();
