# dataset: the three mIoUs on the test images during training (curves.csv).
load 'values.gp' # numbers from the run
set datafile separator ','
set encoding utf8
set border 3 lc rgb '#888888'
set tics nomirror textcolor rgb 'black'
names = "cross-entropy 'cross-entropy + equibatch' 'Lovász per image' " \
  ."'Lovász batch, all classes' 'Lovász batch, present classes' " \
  ."'Lovász batch, present + equibatch' 'Lovász dataset (histograms)'"
array colour[7] = ['#56b4e9', '#0072b2', '#cc79a7', '#8c6d31', '#e69f00', '#d55e00', '#009e73']
of(m) = $1 == m
do for [format in 'png svg'] {
  if (format eq 'png') {
    set terminal pngcairo size 1350,560 font 'sans,13'
  } else {
    set terminal svg size 1350,560 font 'sans,13' background rgb 'white'
  }
  set output 'dataset.'.format
  set multiplot layout 1,3 margins 0.06,0.985,0.30,0.87 spacing 0.065 title \
    'Test dataset-mIoU during training, mean over seeds; dots: the end' font ',15'
  unset key
  set grid lc rgb '#e6e6e6'
  set yrange [0:*]
  set ylabel 'dataset-mIoU' offset 1,0
  set xlabel 'iteration'
  set title 'against the iterations (with s.d.)'
  plot for [m=1:7] 'curves.csv' every 4::20*(m-1)+4::20*m using 3:8:9 with yerrorbars \
      lw 1 pt 7 ps 0 lc rgb colour[m], \
    for [m=1:7] 'curves.csv' every ::1 using (of(m) ? $3 : NaN):8 with lines \
      lw 1.8 lc rgb colour[m]
  set xlabel 'batch-mIoU (present classes)'
  set title 'against the batch-mIoU'
  set xtics 0.1
  plot for [m=1:7] 'curves.csv' every ::1 using (of(m) ? $6 : NaN):8 with lines \
      lw 1.8 lc rgb colour[m] notitle, \
    for [m=1:7] 'curves.csv' every ::20*m::20*m using 6:8 with points \
      pt 7 ps 1.3 lc rgb colour[m] notitle
  set xlabel 'image-mIoU (0/0 = 1)'
  set title 'against the image-mIoU'
  plot for [m=1:7] 'curves.csv' every ::1 using (of(m) ? $4 : NaN):8 with lines \
      lw 1.8 lc rgb colour[m] notitle, \
    for [m=1:7] 'curves.csv' every ::20*m::20*m using 4:8 with points \
      pt 7 ps 1.3 lc rgb colour[m] notitle
  # One key for all panels, below them.
  unset title; unset xlabel; unset ylabel; unset tics; unset border; unset grid
  set lmargin at screen 0.03
  set rmargin at screen 0.99
  set bmargin at screen 0.01
  set tmargin at screen 0.16
  set key center center horizontal maxrows 2 samplen 2.5
  set xrange [0:1]
  set yrange [0:1]
  plot for [m=1:7] NaN with lines lw 3 lc rgb colour[m] title word(names, m)
  unset multiplot
  unset key; set border 3; set tics; set xtics auto; set xrange [*:*]
}
