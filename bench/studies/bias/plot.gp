# bias: a sample of the images (sample.csv), and the losses as functions of the bias (curves.csv).
load 'values.gp' # numbers from the run
set datafile separator ','
set encoding utf8
set border 3 lc rgb '#888888'
set tics nomirror
names = "cross-entropy hinge 'Lovász hinge' 'Jaccard loss'"
array colour[4] = ['#0072b2', '#009e73', '#d55e00', '#303030']
do for [format in 'png svg'] {
  if (format eq 'png') {
    set terminal pngcairo size 1250,500 font 'sans,14'
  } else {
    set terminal svg size 1250,500 font 'sans,14' background rgb 'white'
  }
  set output 'bias.'.format
  set multiplot
  unset key
  unset colorbox
  set palette gray
  set size ratio -1
  set xrange [-0.5:49.5]
  set yrange [49.5:-0.5]
  unset tics
  set border 15
  set lmargin at screen 0.02
  set rmargin at screen 0.2
  set tmargin at screen 0.92
  set bmargin at screen 0.5
  set title 'one of ten labels' offset 0,-0.6
  plot 'sample.csv' every ::1 using 1:2:3 with image
  set tmargin at screen 0.44
  set bmargin at screen 0.02
  set title 'its features' offset 0,-0.6
  plot 'sample.csv' every ::1 using 1:2:4 with image
  set size noratio
  set border 3
  set xtics 0.5 nomirror textcolor rgb 'black'
  set ytics 0.2 nomirror textcolor rgb 'black'
  set lmargin at screen 0.27
  set rmargin at screen 0.98
  set tmargin at screen 0.91
  set bmargin at screen 0.13
  set xrange [-2:2]
  set yrange [-0.02:1.02]
  set xlabel 'bias b'
  set ylabel '(loss − min) / (max − min)'
  set key at graph 0.5,0.97 center top
  set style fill transparent solid 0.2 noborder
  set title sprintf('Relative losses: mean and standard deviation (bands) over %d draws; ' \
    .'dotted: mean argmin', draws) offset 0,-0.3
  do for [k=1:4] {
    set arrow k from word(least, k),0 to word(least, k),0.3 nohead dt 3 lw 2.5 lc rgb colour[k]
  }
  plot for [k=1:4] 'curves.csv' every ::1 \
      using 1:(column(2*k)-column(2*k+1)):(column(2*k)+column(2*k+1)) with filledcurves \
      lc rgb colour[k] notitle, \
    for [k=1:4] 'curves.csv' every ::1 using 1:(column(2*k)) with lines lw 2.5 \
      lc rgb colour[k] title word(names, k)
  unset multiplot
  unset arrow
  set style fill solid
}
