# nu: nu.png and nu.svg show the paths (paths.csv), sweep.png and sweep.svg the sweep (sweep.csv).
load 'values.gp' # numbers from the run
begin = 'reset; set datafile separator ","; set datafile missing NaN; set tics nomirror; ' \
    .'set border 3 lc rgb "#888888"; set encoding utf8'
methods = "'gradient descent' momentum Nesterov Adam prox"
array colour[5] = ['#009e73', '#e69f00', '#cc79a7', '#0072b2', '#a8000000']
array dash[5] = [1, 1, 1, 1, 1]
array width[5] = [1.3, 1.8, 1.5, 1.5, 6]
near(a, b) = abs(a - b) < 1e-9
terminal(n) = n eq 'png' ? 'pngcairo' : 'svg background rgb "white"'
# One key for all panels, below them.
key = 'unset title; unset xlabel; unset ylabel; unset tics; unset border; unset arrow; ' \
    .'unset object; unset label; unset logscale; set lmargin at screen 0.05; ' \
    .'set rmargin at screen 0.95; set bmargin at screen 0; set tmargin at screen 0.07; ' \
    .'set key center center horizontal maxrows 1 samplen 3 width -1; set xrange [0:1]; ' \
    .'set yrange [0:1]; ' \
    .'plot for [m=1:5] NaN with lines lc rgb colour[m] dt dash[m] lw width[m] ' \
    .'title word(methods, m)'

right = 2.3
top = 1.2
low = -0.5
do for [format in 'png svg'] {
  eval begin
  eval 'set terminal '.terminal(format).' size 1350,400 font "sans,13"'
  set output 'nu.'.format
  set multiplot layout 1,3 margins 0.04,0.99,0.18,0.83 spacing 0.04 title \
    sprintf('Paths on f(x) = max(0, νx_1, x_2): step size %g, momentum %g; ' \
      .'dotted: the ridge', eta, alpha) font ',15'
  unset key
  set size ratio -1
  do for [i=1:3] {
    nu = word('0.7 1 1.3', i) + 0
    set xrange [low:right]
    set yrange [low:top]
    set xtics 1 offset 0,0.3
    set ytics 1
    set title sprintf('ν = %.1f', nu) font ',13' offset 0,-0.5
    set xlabel 'x_1' offset 0,1
    if (i == 1) { set ylabel 'x_2' offset 1.5,0 } else { unset ylabel }
    unset arrow
    unset object
    unset label
    set object 1 rectangle from low,low to 0,0 fc rgb '#e8eef4' fs solid noborder behind
    set label 'f = 0' at low / 2,low / 2 center tc rgb '#607080' font ',12'
    set arrow from 0,0 to (top < nu * right ? top / nu : right),(top < nu * right ? top : nu * right) \
      nohead lc rgb '#404040' dt 3
    do for [k=1:15] {
      c = 0.2 * k
      if (c / nu < right) {
        set arrow from c / nu,low to c / nu,(c < top ? c : top) nohead lc rgb '#d4d4d4' back
      }
      if (c < top) { set arrow from low,c to c / nu,c nohead lc rgb '#d4d4d4' back }
    }
    plot for [m in '5 1 2 3 4'] 'paths.csv' every ::1 \
        using ($1 == nu && strcol(2) eq word(methods, m + 0) ? $4 : NaN):5 with lines \
        lc rgb colour[m + 0] dt dash[m + 0] lw width[m + 0], \
      'paths.csv' every ::1 using ($1 == nu && strcol(2) eq 'momentum' ? $4 : NaN):5 \
        with points pt 7 ps 0.4 lc rgb colour[2], \
      'paths.csv' every ::1::1 using 4:5 with points pt 7 ps 1.1 lc rgb '#303030'
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
