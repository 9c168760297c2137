# brain: slice.png and slice.svg show one slice (slice.csv), brain.png and brain.svg the Jaccard
# index of each structure (bars.csv).
load 'values.gp' # numbers from the run
set datafile separator ','
set encoding utf8
array colour[6] = ['#9ecae1', '#fdbf6f', '#b2df8a', '#0072b2', '#e66a00', '#1b8a5a']
titles = "'T1 image' truth cross-entropy Lovász-Softmax"
do for [format in 'png svg'] {
  if (format eq 'png') {
    set terminal pngcairo size 1200,300 font 'sans,13'
  } else {
    set terminal svg size 1200,300 font 'sans,13' background rgb 'white'
  }
  set output 'slice.'.format
  set multiplot layout 1,4 margins 0.01,0.99,0.02,0.9 spacing 0.01
  unset key
  unset tics
  unset grid
  set border 15 lc rgb '#888888'
  set size ratio -1
  set autoscale xfix
  set autoscale yfix
  do for [k=1:4] {
    set title word(titles, k).(k > 2 ? ' (held out)' : '') offset 0,-0.5
    plot 'slice.csv' every ::1 using 1:2:(column(3*k)):(column(3*k+1)):(column(3*k+2)) \
      with rgbimage
  }
  unset multiplot
  if (format eq 'png') {
    set terminal pngcairo size 1200,460 font 'sans,13'
  } else {
    set terminal svg size 1200,460 font 'sans,13' background rgb 'white'
  }
  set output 'brain.'.format
  set size noratio
  set autoscale
  set border 3 lc rgb '#888888'
  set xtics nomirror scale 0 textcolor rgb 'black'
  set ytics nomirror textcolor rgb 'black'
  set grid y lc rgb '#e6e6e6'
  set bmargin 6
  set key at graph 0.5,-0.12 center top horizontal maxrows 2 samplen 1.5
  set yrange [0:*]
  set ylabel 'Jaccard index, %'
  set title 'Held-out slabs, mean and standard deviation over the folds'
  set style data histograms
  set style histogram errorbars gap 2 lw 1
  set style fill solid border lc rgb '#606060'
  set boxwidth 0.9
  plot for [k=1:6] 'bars.csv' using 2*k:2*k+1:xtic(1) lc rgb colour[k] title columnheader
}
