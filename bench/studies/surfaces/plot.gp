# surfaces: the losses of two pixels as surfaces (hinge_1.csv .. softmax_4.csv), and the discrete
# Jaccard loss as dots (table.csv).
load 'values.gp' # numbers from the run
set datafile separator ','
truths = '[-1,-1] [-1,+1] [+1,-1] [+1,+1]'
set palette defined (0 '#f7fbff', 0.5 '#6baed6', 1 '#08306b')
unset colorbox
unset key
set xyplane 0
set pm3d scansautomatic border lc rgb '#40606060' lw 0.3
set tics offset 0,-0.3
do for [format in 'png svg'] {
  if (format eq 'png') {
    set terminal pngcairo size 1400,760 font 'sans,12'
  } else {
    set terminal svg size 1400,760 font 'sans,12' background rgb 'white'
  }
  set output 'surfaces.'.format
  set multiplot layout 2,4 title 'Lovász hinge (above) and Lovász-Softmax of the foreground ' \
    .'(below) for two pixels; red: the discrete Jaccard loss' font ',15'
  do for [loss in 'hinge softmax'] {
    hinge = loss eq 'hinge'
    axis = hinge ? 'r' : 'd'
    low = hinge ? -0.5 : -6
    high = hinge ? 2 : 6
    set view 58, (hinge ? 325 : 145), 1.05
    set xrange [low:high]
    set yrange [low:high]
    set xtics hinge ? 1 : 6
    set ytics hinge ? 1 : 6
    set ztics 1
    set zrange [0:(hinge ? 2 : 1.02)]
    set xlabel axis.'_1' offset 0,-0.5
    set ylabel axis.'_2' offset 0,-0.5
    do for [i=1:4] {
      set title 'truth '.word(truths, i) offset 0,0.5
      truth = 4 * (i - 1) + 1
      splot sprintf('%s_%d.csv', loss, i) skip 1 every 2:2 using 1:2:3 with pm3d, \
            'table.csv' every ::truth::truth + 3 \
              using (strcol(3) eq '1' || strcol(3) eq '1 and 2' ? (hinge ? 1 : -6) \
                                                               : (hinge ? 0 : 6)): \
                    (strcol(3) eq '2' || strcol(3) eq '1 and 2' ? (hinge ? 1 : -6) \
                                                               : (hinge ? 0 : 6)): \
                    ($4 + 0.01) with points pt 7 ps 1.5 lc rgb '#d62728'
    }
  }
  unset multiplot
}
