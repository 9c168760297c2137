# dataset: the three mIoUs on the test images, during training and at its end (curves.csv).
load 'values.gp' # numbers from the run
set datafile separator ','
set encoding utf8
checks = 20 # lines of curves.csv for each method
array name[7] = ["cross-entropy", "cross-entropy\n+ equibatch", "Lovász per image", \
  "Lovász batch,\nall classes", "Lovász batch,\npresent classes", \
  "Lovász batch,\npresent + equibatch", "Lovász dataset\n(histograms)"]
array colour[7] = ['#3a9bd9', '#0072b2', '#cc79a7', '#8c6d31', '#e69f00', '#d55e00', '#009e73']
of(m) = $1 == m
terminal(n) = n eq 'png' ? 'pngcairo' : 'svg background rgb "white"'
do for [format in 'png svg'] {
  eval 'set terminal '.terminal(format).' size 1350,560 font "sans,14"'
  set output 'dataset.'.format
  set multiplot title sprintf('Test images, mean over %d seeds; bands and bars: standard deviation', \
    seeds) font ',16'
  set border 3 lc rgb '#888888'
  set tics nomirror textcolor rgb 'black'
  set grid lc rgb '#e0e0e0'
  set style fill transparent solid 0.18 noborder
  set tmargin at screen 0.82
  set bmargin at screen 0.13
  set xrange [0:iterations]
  set xtics iterations > 100 ? 100 : 2
  set xlabel 'iteration'

  set lmargin at screen 0.055
  set rmargin at screen 0.275
  set yrange [0:70]
  set ylabel 'dataset-mIoU, %' offset 1,0
  set title 'Each loss: dataset-mIoU' offset 0,-0.3
  unset key
  plot for [m=1:7] 'curves.csv' every ::1 using (of(m) ? $3 : NaN):(100*($8-$9)):(100*($8+$9)) \
      with filledcurves lc rgb colour[m], \
    for [m=1:7] 'curves.csv' every ::1 using (of(m) ? $3 : NaN):(100*$8) with lines lw 2.5 \
      lc rgb colour[m]

  set lmargin at screen 0.355
  set rmargin at screen 0.58
  set yrange [0:100]
  set ylabel 'mIoU, %' offset 1,0
  set title 'Two losses: what they raise' offset 0,-0.3
  set label 1 'image-mIoU' at graph 0.95,first 80 right tc rgb colour[3]
  set label 2 'batch-mIoU' at graph 0.95,first 66 right tc rgb colour[5]
  set label 3 'dataset-mIoU' at graph 0.95,first 51 right tc rgb colour[5]
  set label 4 'dataset-mIoU' at graph 0.95,first 16 right tc rgb colour[3]
  plot 'curves.csv' every ::1 using (of(3) ? $3 : NaN):(100*$4) with lines lw 2.5 lc rgb colour[3], \
    'curves.csv' every ::1 using (of(3) ? $3 : NaN):(100*$8) with lines lw 2.5 dt 2 lc rgb colour[3], \
    'curves.csv' every ::1 using (of(5) ? $3 : NaN):(100*$6) with lines lw 2.5 lc rgb colour[5], \
    'curves.csv' every ::1 using (of(5) ? $3 : NaN):(100*$8) with lines lw 2.5 dt 2 lc rgb colour[5]
  do for [k=1:4] { unset label k }

  # The names at this panel say what the colours of all panels mean.
  set lmargin at screen 0.755
  set rmargin at screen 0.985
  set xrange [0:100]
  set xtics 20
  set yrange [7.6:0.4]
  set xlabel 'mIoU, %'
  unset ylabel
  set title 'At the end: all three mIoUs' offset 0,-0.3
  set format y ''
  set ytics 1,1,7 scale 0
  do for [m=1:7] {
    set label 10+m name[m] at graph -0.03,first (m - (strstrt(name[m], "\n") ? 0.15 : 0)) right \
      tc rgb colour[m]
  }
  set key at graph 1,1.01 right bottom horizontal samplen 0.5 width -2 maxrows 1
  set title offset 0,0.9
  plot for [m=1:7] 'curves.csv' every ::checks*m::checks*m using (100*$8):1:(100*$9) \
      with xerrorbars pt 7 ps 1.5 lw 2 lc rgb colour[m] notitle, \
    for [m=1:7] 'curves.csv' every ::checks*m::checks*m using (100*$6):1 with points \
      pt 4 ps 1.5 lw 2 lc rgb colour[m] notitle, \
    for [m=1:7] 'curves.csv' every ::checks*m::checks*m using (100*$4):1 with points \
      pt 8 ps 1.8 lw 2 lc rgb colour[m] notitle, \
    NaN with points pt 7 ps 1.5 lc rgb '#404040' title 'dataset', \
    NaN with points pt 4 ps 1.5 lw 2 lc rgb '#404040' title 'batch', \
    NaN with points pt 8 ps 1.8 lw 2 lc rgb '#404040' title 'image'
  do for [m=1:7] { unset label 10+m }
  set format y '%g'
  set ytics autofreq scale 1
  unset multiplot
  unset title
}
