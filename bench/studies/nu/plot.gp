# nu: nu.png and nu.svg show the paths (paths.csv), sweep.png and sweep.svg the sweep (sweep.csv).
load 'values.gp' # numbers from the run
begin = 'reset; set datafile separator ","; set datafile missing NaN; set tics nomirror; ' \
    .'set border 3 lc rgb "#888888"; set encoding utf8; set dashtype 2 (9,5)'
methods = "'gradient descent' momentum Nesterov Adam prox"
# The paper's line styles: gradient descent dashed, momentum plain, prox in its own colour.
array colour[5] = ['#004d3a', '#e69f00', '#b0307a', '#0072b2', '#5ec99a']
array dash[5] = [2, 1, 1, 1, 1]
array width[5] = [2, 2.5, 2, 2, 6]
near(a, b) = abs(a - b) < 1e-9
terminal(n) = n eq 'png' ? 'pngcairo' : 'svg background rgb "white"'
# One key for all panels, below them.
key = 'unset title; unset xlabel; unset ylabel; unset tics; unset border; unset arrow; ' \
    .'unset object; unset label; unset logscale; set lmargin at screen 0.05; ' \
    .'set rmargin at screen 0.95; set bmargin at screen 0; set tmargin at screen 0.06; ' \
    .'set key center center horizontal maxrows 1 samplen 3 width -1; set xrange [0:1]; ' \
    .'set yrange [0:1]; ' \
    .'plot for [m=1:5] NaN with lines lc rgb colour[m] dt dash[m] lw width[m] ' \
    .'title word(methods, m)'

# The first row follows the figure in the paper's supplement. The paper does not give its start, step
# size or momentum, so these are our choice. The second row shows the other optimisers beside prox.
left = -0.2
right = 1.22
low = -0.15
top = 0.82
rows = "'5 2 1' '5 3 4'"
do for [format in 'png svg'] {
  eval begin
  eval 'set terminal '.terminal(format).' size 1350,800 font "sans,14"'
  set output 'nu.'.format
  set multiplot layout 2,3 margins 0.05,0.99,0.13,0.88 spacing 0.035,0.1 title \
    sprintf('The ridge of f(x) = max(0, νx_1, x_2) and paths along it from (2, 0.73): step size ' \
      .'%g, momentum %g', eta, alpha) font ',16'
  unset key
  set size ratio -1
  do for [row=1:2] {
    do for [i=1:3] {
      nu = word('0.7 1 1.3', i) + 0
      set xrange [left:right]
      set yrange [low:top]
      set xtics 0.5 offset 0,0.3
      set ytics 0.5
      set title sprintf('ν = %.1f: %s', nu, row == 1 ? "after the supplement's figure" : "others") font ',15' offset 0,-0.5
      if (row == 2) { set xlabel 'x_1' offset 0,1 } else { unset xlabel }
      if (i == 1) { set ylabel 'x_2' offset 2.5,0 } else { unset ylabel }
      unset arrow
      unset object
      unset label
      set object 1 rectangle from left,low to 0,0 fc rgb '#dfe8f1' fs solid noborder behind
      set label 'f = 0' at left * 0.95,low * 0.8 left tc rgb '#506070' font ',12'
      set arrow from 0,0 to (top < nu * right ? top / nu : right),(top < nu * right ? top : nu * right) \
        nohead lc rgb '#404040' dt 3 lw 1.5
      do for [k=1:15] {
        c = 0.1 * k
        if (c / nu < right) {
          set arrow from c / nu,low to c / nu,(c < top ? c : top) nohead lc rgb '#dcdcdc' back
        }
        if (c < top) { set arrow from left,c to c / nu,c nohead lc rgb '#dcdcdc' back }
      }
      plot for [m in word(rows, row)] 'paths.csv' every ::1 \
          using ($1 == nu && strcol(2) eq word(methods, m + 0) ? $4 : NaN):5 with lines \
          lc rgb colour[m + 0] dt dash[m + 0] lw width[m + 0], \
        for [m in (row == 1 ? '2' : '3 4')] 'paths.csv' every ::1 \
          using ($1 == nu && strcol(2) eq word(methods, m + 0) ? $4 : NaN):5 \
          with points pt 7 ps 0.6 lc rgb colour[m + 0]
    }
  }
  set size noratio
  eval key
  unset multiplot
}

pick(m) = strcol(1) eq word(methods, m) && (m == 2 || m == 3 ? near($4, alpha) : 1)
do for [format in 'png svg'] {
  eval begin
  eval 'set terminal '.terminal(format).' size 1200,850 font "sans,13"'
  set output 'sweep.'.format
  set multiplot layout 2,2 margins 0.07,0.98,0.14,0.88 spacing 0.09,0.15 title \
    'Means over random starts at distance 2 from the corner of the minimum' font ',15'
  unset key
  settings = sprintf('step size %g, momentum %g', eta, alpha)
  set xlabel 'ν' offset 0,0.5
  set title 'Ridge crossings ('.settings.')'
  set ylabel 'crossings'
  set yrange [-1:*]
  plot for [m=1:5] 'sweep.csv' every ::1 using (pick(m) && near($3, eta) ? $2 : NaN):5 \
    with lines lc rgb colour[m] dt dash[m] lw width[m]
  set yrange [1:*]
  set title 'Path / straight way ('.settings.')'
  set ylabel 'ratio'
  plot for [m=1:5] 'sweep.csv' every ::1 using (pick(m) && near($3, eta) ? $2 : NaN):7 \
    with lines lc rgb colour[m] dt dash[m] lw width[m]
  set autoscale y
  set logscale xy
  set xrange [0.008:0.25]
  set xtics (0.01, 0.02, 0.05, 0.1, 0.2)
  set xlabel 'step size'
  set title sprintf('Iterations to f ≤ 10^{-6} (ν = 1.3, momentum %g)', alpha)
  set ylabel 'iterations'
  plot for [m=1:5] 'sweep.csv' every ::1 using (pick(m) && near($2, 1.3) ? $3 : NaN):9 \
    with lines lc rgb colour[m] dt dash[m] lw width[m]
  unset logscale
  set xrange [0.45:1]
  set yrange [0:*]
  set xtics 0.1
  set xlabel 'momentum'
  set title sprintf('Ridge crossings (step size %g)', eta)
  set ylabel 'crossings'
  set key top right vertical
  array kind[3] = [2, 1, 4]
  plot for [m=2:3] for [j=1:3] 'sweep.csv' every ::1 \
    using (strcol(1) eq word(methods, m) && near($3, eta) && \
      near($2, word('0.7 1 1.3', j) + 0) ? $4 : NaN):5 \
    with lines lc rgb colour[m] dt kind[j] lw 1.8 \
    title sprintf('%s, ν = %s', word(methods, m), word('0.7 1.0 1.3', j))
  eval key
  unset multiplot
}
