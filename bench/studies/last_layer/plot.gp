# last_layer: J - J* during training and the held-out Jaccard index at its end (curves.csv), a panel
# for each step rule.
load 'values.gp' # numbers from the run
set datafile separator ','
set encoding utf8
rules = 'SGD momentum Adam'
kinds = "subgradient 'exact prox' 'Algorithm 2'"
array colour[3] = ['#0072b2', '#d55e00', '#009e73']
# The method of this rule and kind of direction, 1 to 7 as in the files; 0: there is none.
method(rule, kind) = kind == 1 ? rule : kind == 2 ? 3 + rule : rule == 1 ? 7 : 0
terminal(n) = n eq 'png' ? 'pngcairo' : 'svg background rgb "white"'
file = 'curves.csv'
height = 455
of(m) = $1 == m
do for [format in 'png svg'] {
  eval 'set terminal '.terminal(format).sprintf(' size 1350,%d font "sans,14"', height)
  set output 'last_layer.'.format
  set multiplot title sprintf('Lines: median over %d seeds; bands and bars: 10 to 90 %% of the ' \
    .'seeds', seeds) font ',16'
  set border 3 lc rgb '#888888'
  set style fill transparent solid 0.25 noborder
  unset key
  top = 1 - 105.0 / height
  set tmargin at screen top
  set bmargin at screen top - 225.0 / height
  set tics nomirror textcolor rgb 'black'
  set grid lc rgb '#e0e0e0'
  set logscale y
  set format y '10^{%T}'
  set xlabel 'epoch' offset 0,0.5
  set xrange [0:epochs]
  set yrange [*:*]
  stats file every ::1 using ($3 > 0 ? $5 : NaN) nooutput
  low = STATS_min
  stats file every ::1 using ($3 > 0 ? $6 : NaN) nooutput
  set yrange [low:STATS_max]
  do for [r=1:3] {
    set lmargin at screen 0.07 + 0.235 * (r - 1)
    set rmargin at screen 0.07 + 0.235 * (r - 1) + 0.195
    set ylabel (r == 1 ? 'J − J*' : '') offset 1,0
    set title word(rules, r) offset 0,-0.4
    plot for [d=1:3] file every ::1 using (of(method(r, d)) && $3 > 0 ? $3 : NaN):5:6 \
        with filledcurves lc rgb colour[d], \
      for [d=1:3] file every ::1 using (of(method(r, d)) && $3 > 0 ? $3 : NaN):4 with lines \
        lw 2.5 lc rgb colour[d]
  }
  unset logscale
  set format y '%g'
  set lmargin at screen 0.83
  set rmargin at screen 0.985
  set title 'at the end' offset 0,-0.4
  set xlabel 'held-out Jaccard index, %' offset 0,0.5
  unset ylabel
  set yrange [*:*]
  stats file every ::1 using ($3 == epochs ? 100*$8 : NaN) nooutput
  low = floor(STATS_min - 0.5)
  stats file every ::1 using ($3 == epochs ? 100*$9 : NaN) nooutput
  set xrange [low:ceil(STATS_max + 0.5)]
  set yrange [3.6:0.4]
  set ytics ('SGD' 1, 'momentum' 2, 'Adam' 3)
  set xtics autofreq
  plot for [d=1:3] for [r=1:3] file every ::1 using \
      (of(method(r, d)) && $3 == epochs ? 100*$7 : NaN):(r + (d - 2) * 0.22):(100*$8):(100*$9) \
      with xerrorbars pt 7 ps 1.3 lw 2 lc rgb colour[d]
  set ytics autofreq
  # One key for all panels, below them.
  unset title; unset xlabel; unset ylabel; unset tics; unset border; unset grid
  set lmargin at screen 0.1
  set rmargin at screen 0.9
  set bmargin at screen 0
  set tmargin at screen 40.0 / height
  set key center center horizontal maxrows 1 samplen 3 width 2
  set xrange [0:1]
  set yrange [0:1]
  plot for [d=1:3] NaN with lines lw 4 lc rgb colour[d] title word(kinds, d)
  unset multiplot
  set autoscale
  set tics
}
