# prox: how often and by how much Algorithm 2 misses the prox, with and without the hinge, repaired
# and as printed. Left: curves over the step at one p. Else: maps over the step and one more axis.
load 'values.gp' # numbers from the run
set datafile separator ','
set logscale x
set format x '10^{%L}'
set xrange [7.5e-5:1.33e1]
set tics out nomirror
set palette defined (0 '#3b7cb8', 0.5 '#f4f1ec', 1 '#c9452f')
set cbrange [0:100]

# Columns of a sweep: 1 p, 2 centre, 3 spread, 4 step, 6 version, 8 % that fail, 12 mean missed.
curve(version, y) = strcol(6) eq version && column(1) == curve_p ? y : NaN
cell(y) = strcol(6) eq 'repaired' ? y : NaN
left(step) = step * 10**-0.125 # a cell is as wide as the distance of two steps
right(step) = step * 10**0.125
array versions[2] = ['printed', 'repaired']
array titles[2] = ['hinge, as printed', 'hinge, repaired']
array colours[2] = ['#e9a79c', '#2166ac']
array widths[2] = [10, 3]

do for [format in 'png svg'] {
  if (format eq 'png') {
    set terminal pngcairo size 1500,920 font 'sans,13'
  } else {
    set terminal svg size 1500,920 font 'sans,13' background rgb 'white'
  }
  set output 'prox.'.format
  set multiplot layout 2,3 margins 0.055,0.92,0.075,0.86 spacing 0.065,0.16 title \
    "In large problems Algorithm 2 misses the prox, unless steps are too short for two pixels ".\
    "to meet, or the hinge takes all margins to 0\n{/*0.8 Jaccard loss, random margins and masks; a problem ".\
    'fails if more than '.sprintf('10^{%.0f}', log10(negligible)).\
    ' of the decrease to the exact minimum is missed}' font ',16'

  set title sprintf('How often it fails: p = %d, margins 1 ± 0.1', curve_p)
  set xlabel 'mean step of a pixel, 1 / (λ p)'
  set ylabel '% of problems' offset 1,0
  set yrange [0:160]
  set ytics 0,20,100
  set grid lc rgb '#dddddd'
  set key top left Left reverse samplen 3
  unset colorbox
  plot for [i=1:2] 'sweep_hinge.csv' skip 1 using 4:(curve(versions[i], $8)) with lines \
         lw widths[i] lc rgb colours[i] title titles[i], \
       'sweep_plain.csv' skip 1 using 4:(curve('repaired', $8)) with lines lw 2 dt (10,8) \
         lc rgb '#000000' title 'no hinge, repaired'

  unset key
  unset grid
  set ytics autofreq
  set title 'No hinge, repaired: margins 1 ± 0.1'
  set ylabel 'pixels p'
  set logscale y 4
  set format y '%.0f'
  set yrange [2:2*largest]
  set label 1 "too short\nto meet" at 1.1e-4, 16 left tc rgb '#101010' front
  plot 'sweep_plain.csv' skip 1 \
    using 4:(cell($1)):(left($4)):(right($4)):($1/2):($1*2):8 with boxxyerror fs solid lc palette

  set title 'Hinge, repaired: margins 1 ± 0.1'
  set colorbox user origin 0.935,0.53 size 0.012,0.33
  set cblabel '% of problems that fail'
  set label 2 "all end\nat 0" at 4.6, 2**(1 + log(largest) / log(4)) center tc rgb '#101010' front
  plot 'sweep_hinge.csv' skip 1 \
    using 4:(cell($1)):(left($4)):(right($4)):($1/2):($1*2):8 with boxxyerror fs solid lc palette
  unset colorbox
  unset label

  set title sprintf('By how much: p = %d, margins 1 ± 0.1', curve_p)
  set ylabel 'mean share of the decrease missed'
  unset logscale y
  set logscale y 10
  set format y '10^{%L}'
  set yrange [1e-6:1e5]
  set grid lc rgb '#dddddd'
  set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lw 1.5 dt (3,3) lc rgb '#555555'
  set label 1 'above: worse than to stay at x' at graph 0.02, first 3 left tc rgb '#555555'
  set label 2 'hinge: nothing' at 12, 3e-6 right tc rgb '#2166ac'
  plot for [i=1:2] 'sweep_hinge.csv' skip 1 \
         using 4:(curve(versions[i], $12 > 0 ? $12 : NaN)) with lines \
         lw widths[i] lc rgb colours[i], \
       'sweep_plain.csv' skip 1 using 4:(curve('repaired', $12 > 0 ? $12 : NaN)) \
         with lines lw 2 dt (10,8) lc rgb '#000000'
  unset arrow
  unset label
  unset grid

  set title sprintf('Hinge, repaired, p = %d: margins 1 ± spread', middle)
  set ylabel 'spread of the margins'
  set format y '%g'
  set yrange [0.01/10**0.25:10**0.75]
  set label 1 "too short\nto meet" at 1.1e-4, 3 left tc rgb '#101010' front
  set label 2 "all end\nat 0" at 4.6, 0.1 center tc rgb '#101010' front
  plot 'sweep_spread.csv' skip 1 \
    using 4:(cell($3)):(left($4)):(right($4)):($3/10**0.25):($3*10**0.25):8 \
    with boxxyerror fs solid lc palette

  set title sprintf('Hinge, repaired, p = %d: margins centre ± 1', middle)
  set ylabel 'centre of the margins'
  unset logscale y
  set yrange [-3.5:2.5]
  set label 2 at 4.6, -1
  set label 1 'few margins are above 0' at 0.03, -2.5 center
  plot 'sweep_centre.csv' skip 1 \
    using 4:(cell($2)):(left($4)):(right($4)):($2-0.5):($2+0.5):8 with boxxyerror fs solid lc palette
  unset label
  unset multiplot
  unset logscale y
}
