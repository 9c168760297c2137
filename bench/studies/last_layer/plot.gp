# last_layer: J - J* and the validation Jaccard index during training (curves_1.csv, ..),
# one row of panels for each data set.
load 'values.gp' # numbers from the run
set datafile separator ','
set encoding utf8
names = "SGD momentum Adam prox 'prox + momentum' 'prox + Adam' 'Algorithm 2 prox'"
array colour[7] = ['#009e73', '#e69f00', '#0072b2', '#303030', '#a6611a', '#56b4e9', '#cc79a7']
array dash[7] = [1, 1, 1, 2, 2, 2, 4]
of(m) = $1 == m
do for [format in 'png svg'] {
  if (format eq 'png') {
    eval sprintf('set terminal pngcairo size 1350,%d font "sans,13"', 90 + 380 * rows)
  } else {
    eval sprintf('set terminal svg size 1350,%d font "sans,13" ' \
      .'background rgb "white"', 90 + 380 * rows)
  }
  set output 'last_layer.'.format
  bottom = rows == 2 ? 0.14 : 0.25
  set multiplot layout rows,3 margins 0.065,0.985,bottom,0.92 \
    spacing 0.065,(rows == 2 ? 0.13 : 0)
  set border 3 lc rgb '#888888'
  set tics nomirror textcolor rgb 'black'
  set grid lc rgb '#e6e6e6'
  unset key
  do for [k=1:rows] {
    file = sprintf('curves_%d.csv', k)
    set logscale y
    set format y '10^{%T}'
    set ylabel 'J − J*' offset 1,0
    set xlabel 'epoch'
    set title word(titles, k).': against epochs'
    plot for [m=1:7] file every ::1 using (of(m) ? $3 : NaN):5 with lines lw 2 \
      dt dash[m] lc rgb colour[m]
    set xlabel 'seconds'
    set logscale x
    set format x '10^{%T}'
    set title word(titles, k).': against time'
    plot for [m=1:7] file every ::1 using (of(m) && $3 >= 1 ? $4 : NaN):5 with lines lw 2 \
      dt dash[m] lc rgb colour[m]
    unset logscale
    set format x '%g'
    set format y '%g'
    set xlabel 'epoch'
    set ylabel 'validation Jaccard index' offset 1,0
    set title word(titles, k).': validation'
    plot for [m=1:7] file every ::1 using (of(m) ? $3 : NaN):6 with lines lw 2 \
      dt dash[m] lc rgb colour[m]
  }
  # One key for all panels, below them.
  unset title; unset xlabel; unset ylabel; unset tics; unset border; unset grid
  set lmargin at screen 0.03
  set rmargin at screen 0.99
  set bmargin at screen 0.005
  set tmargin at screen 0.06
  set key center center horizontal maxrows 2 samplen 4
  set xrange [0:1]
  set yrange [0:1]
  plot for [m=1:7] NaN with lines lw 3 dt dash[m] lc rgb colour[m] title word(names, m)
  unset multiplot
  set autoscale
  set tics
}
