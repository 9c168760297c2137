# prox: how often and by how much Algorithm 2 misses the minimum (prox.csv), and what a call
# costs (table.csv).
load 'values.gp' # numbers from the run
set datafile separator ','
stats 'prox.csv' skip 1 using 1 nooutput
blocks = STATS_blocks
set logscale x
set grid lc rgb '#dddddd'
set format x '10^{%L}'
set palette defined (0 '#9ecae1', 0.5 '#2171b5', 1 '#08306b')
unset colorbox
label(i) = sprintf('p = %d', 4**(i + 1))
colour(i) = blocks > 1 ? 1.0 * i / (blocks - 1) : 1.0
do for [format in 'png svg'] {
  if (format eq 'png') {
    set terminal pngcairo size 1300,460 font 'sans,12'
  } else {
    set terminal svg size 1300,460 font 'sans,12' background rgb 'white'
  }
  set output 'prox.'.format
  set multiplot layout 1,3 title \
    'Greedy path (Algorithm 2) against the exact prox of the Jaccard extension' font ',15'
  set xlabel 'mean step of a pixel, 1 / (λ p)'
  unset key
  set title 'how often the path is suboptimal'
  set ylabel '% of cases'
  set yrange [0:105]
  plot for [i=0:blocks-1] 'prox.csv' skip 1 index i using 2:5 with linespoints pt 7 ps 0.7 \
    lw 2 lc palette frac colour(i)
  set title 'by how much: mean share of the decrease missed'
  set ylabel '(path - minimum) / (start - minimum)'
  set logscale y
  set format y '10^{%L}'
  set yrange [1e-7:1]
  set key bottom right maxrows 4 samplen 2
  plot for [i=0:blocks-1] 'prox.csv' skip 1 index i using 2:($6 > 0 ? $6 : NaN) \
    with linespoints pt 7 ps 0.7 lw 2 lc palette frac colour(i) title label(i)
  set title 'time of one call, gap included'
  set xlabel 'pixels p'
  set ylabel 'microseconds'
  set autoscale y
  set key top left Left reverse
  plot 'table.csv' every ::1 using 1:12 with linespoints pt 5 lw 2 lc rgb '#d95f0e' \
         title 'greedy path', \
       '' every ::1 using 1:13 with linespoints pt 7 lw 2 lc rgb '#2171b5' title 'exact'
  unset multiplot
}
