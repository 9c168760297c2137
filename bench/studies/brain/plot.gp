# brain: slice.png and slice.svg show one slice (slice.csv, legend.csv), brain.png and brain.svg the
# Jaccard index of each structure (bars.csv).
load 'values.gp' # numbers from the run
set datafile separator ','
set encoding utf8
array colour[6] = ['#9ecae1', '#fdbf6f', '#b2df8a', '#0072b2', '#e66a00', '#1b8a5a']
terminal(n) = n eq 'png' ? 'pngcairo' : 'svg background rgb "white"'
array heading[4] = ['T1 image', 'truth', 'cross-entropy', 'Lovász-Softmax']
array below[4] = ['', '', sprintf('Jaccard index %.1f %%', shown_entropy), \
  sprintf('Jaccard index %.1f %%', shown_lovasz)]
do for [format in 'png svg'] {
  eval 'set terminal '.terminal(format).' size 1200,450 font "sans,16"'
  set output 'slice.'.format
  set multiplot title sprintf('One hidden layer: a typical slice, the median difference of the ' \
    .'losses among %d held-out slices', among) font ',15'
  unset key
  unset tics
  unset grid
  set border 15 lc rgb '#888888'
  set size ratio -1
  set autoscale xfix
  set autoscale yfix
  set tmargin at screen 0.85
  set bmargin at screen 0.23
  do for [k=1:4] {
    set lmargin at screen 0.005 + 0.25 * (k - 1)
    set rmargin at screen 0.245 + 0.25 * (k - 1)
    set title heading[k] offset 0,-0.5
    set xlabel below[k] offset 0,0 font ',17'
    plot 'slice.csv' every ::1 using 1:2:(column(3*k)):(column(3*k+1)):(column(3*k+2)) \
      with rgbimage
  }
  # The structures' colours, eight in a row.
  unset title; unset xlabel; unset border
  set size noratio
  set lmargin at screen 0.02
  set rmargin at screen 0.98
  set tmargin at screen 0.11
  set bmargin at screen 0
  set xrange [0:8]
  set yrange [-1.5:0.5]
  set label 1 'black line: truth' at graph 0.98,screen 0.083 right
  plot 'legend.csv' every ::1 using ((int($1) % 8) * 1.4 + 0.1):(-int($1) / 8):2 with points pt 5 ps 2.2 \
      lc rgb variable, \
    '' every ::1 using ((int($1) % 8) * 1.4 + 0.22):(-int($1) / 8):3 with labels left
  unset label 1
  unset multiplot

  eval 'set terminal '.terminal(format).' size 1200,500 font "sans,14"'
  set output 'brain.'.format
  set lmargin 9; set rmargin 2; set tmargin 3; set bmargin 6
  set autoscale
  set border 3 lc rgb '#888888'
  set xtics nomirror scale 0 textcolor rgb 'black'
  set ytics nomirror textcolor rgb 'black'
  set grid y lc rgb '#e0e0e0'
  set key at graph 0.5,-0.12 center top horizontal maxrows 2 samplen 1.5 width 2
  set xrange [-0.5:*]
  set yrange [0:*]
  set ylabel 'Jaccard index, %'
  set title sprintf('All held-out slices, mean over %d seeds; dots: each fold alone', seeds)
  set style fill solid noborder
  at(place, k) = place + (k - 2.5) * 0.14 + (k > 2 ? 0.02 : -0.02)
  names = "'linear: cross-entropy' 'linear: Lovász-Softmax' 'linear: the sum' " \
    ."'hidden layer: cross-entropy' 'hidden layer: Lovász-Softmax' 'hidden layer: the sum'"
  plot for [k=0:5] 'bars.csv' every ::1 using ($2 == k ? at($1, k) : NaN):4:(0.115) with boxes \
      lc rgb colour[k+1] title word(names, k + 1), \
    'bars.csv' every ::1 using 1:(NaN):xtic(3) with points notitle, \
    for [fold=1:folds] 'bars.csv' every ::1 using (at($1, $2)):(column(4 + fold)) with points \
      pt 6 ps 0.8 lw 1.3 lc rgb '#303030' notitle
  unset title; unset ylabel
}
