#!/usr/bin/env bash
# submod-miou on small label maps: all file types, conventions, Cityscapes, and every way in which
# a file can be wrong. The expected scores were computed by hand and stand as fractions.
#
#   tests/miou/run.sh SUBMOD_MIOU MAKE_PNG MAKE_COUNTS
set -euo pipefail

if [ $# -ne 3 ]; then
    echo "usage: $0 SUBMOD_MIOU MAKE_PNG MAKE_COUNTS" >&2
    exit 2
fi
miou=$1
make_png=$2
make_counts=$3
page=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/docs/miou.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
    echo "miou test: $*" >&2
    for file in out err; do
        if [ -e "$file" ]; then
            sed "s/^/    $file: /" "$file" >&2
        fi
    done
    exit 1
}

# png FILE KIND WIDTH HEIGHT LABEL...
png() {
    mkdir -p "$(dirname "$1")"
    "$make_png" "$@"
}

# expect CODE ARGUMENTS...: runs submod-miou; stdout is in out, stderr in err.
expect() {
    local code=$1 got=0
    shift
    "$miou" "$@" >out 2>err || got=$?
    [ "$got" -eq "$code" ] || fail "exit code $got instead of $code from: submod-miou $*"
}

# field NAME FRACTION: a number in the JSON on stdout.
field() {
    local got
    got=$(sed -n "s/^  \"$1\": \(.*\),\$/\1/p" out)
    awk -v got="$got" -v want="$2" 'BEGIN {
        split(want, f, "/"); w = f[2] ? f[1] / f[2] : f[1]
        exit !(got != "" && got != "null" && got - w < 1e-14 && w - got < 1e-14) }' ||
        fail "$1 is '$got' instead of $2"
}

# class NUMBER KEY VALUE: a raw JSON value of one class.
class() {
    grep "\"class\": $1, .*\"$2\": $3[,}]" out >/dev/null || fail "class $1 has no $2 $3"
}

# table REGEX: a line of the table on stdout.
table() {
    grep -E -- "$1" out >/dev/null || fail "no line of the table is like: $1"
}

says() {
    grep -F -- "$1" err >/dev/null || fail "stderr does not say: $1"
}

problems() {
    local count
    count=$(wc -l <err)
    [ "$count" -eq "$1" ] || fail "$count lines on stderr instead of $1"
}

# ---- two images, three classes ----
#   a: truth 0 0 1 1      b: truth 2 2 void 0
#      pred. 0 1 1 1         pred. 2 0  7   0      (7 is no class, but the truth there is void)
#   IoU of a: 1/2, 2/3, absent; of b: 1/2, absent, 1/2; of both together: 2/4, 2/3, 1/2
png gt/a.png palette8 4 1 0 0 1 1
png pred/a.png gray8 4 1 0 1 1 1
png gt/sub/b.png gray8 2 2 2 2 255 0
png pred/sub/b.png gray16 2 2 2 0 7 0

expect 0 pred gt --classes 3 --json -
problems 0
field images 2
field pixels 7
field dataset_miou 5/9
field image_miou 25/36
field mean_dice 32/45
field pixel_accuracy 5/7
field mean_class_accuracy 13/18
field frequency_weighted_iou 23/42
class 0 iou 0.5
class 0 true_pixels 3
if command -v python3 >/dev/null; then
    python3 -m json.tool <out >/dev/null || fail "that is not JSON"
fi

cp out before
for threads in 1 3; do
    expect 0 pred gt --classes 3 --json - --threads "$threads"
    cmp -s out before || fail "the number of threads shows in the result"
done

expect 0 pred gt --classes 3 --json - --absent skip
field dataset_miou 5/9
field image_miou 13/24
expect 0 pred gt --classes 4 --json - --absent zero
field dataset_miou 5/12
field image_miou 13/48
class 3 iou 0
expect 0 pred gt --classes 4 --json - --absent truth
field dataset_miou 5/9
class 3 iou null

# Void is out of range when nothing is ignored.
expect 1 pred gt --classes 3 --ignore none --quiet
problems 1
says "submod-miou: gt/sub/b.png: label 255 at column 0, row 1 must be in [0, 3)"
[ ! -s out ] || fail "--quiet printed something"

# ---- the table, names, lists ----
expect 0 pred gt --classes 3
table '^ +1  class 1 +66\.67 +80\.00 +100\.00  2$'
table '^dataset-mIoU +55\.56 %$'
table '^image-mIoU +69\.44 %$'
printf 'sky\nsea\nthe "land"\n' >names
expect 0 pred gt --classes 3 --names names --json results.json
table '^ +2  the "land" +50\.00'
grep -F '"name": "the \"land\"", "iou": 0.5' results.json >/dev/null || fail "names in the JSON"
expect 0 pred gt --voc
table '^ +15  person +100\.00'
echo sub/b >list
expect 0 pred gt --classes 3 --list list --json -
field dataset_miou 2/3
printf 'sub/c\nsub/b\n' >list
expect 1 pred gt --classes 3 --list list --json -
problems 1
says "sub/c: in the list, but not in the ground truth"

# ---- more metrics ----
expect 0 pred gt --classes 3 --json -
! grep -E 'instance|boundary|categor|miou_c' out >/dev/null || fail "metrics that nobody asked for"

#   of each image: a 1/2, 2/3; b 1/2, 1/2, of the classes 0, 2. The worst of two images is one.
for threads in 1 3; do
    expect 0 pred gt --classes 3 --json - --fine-grained 50 --absent truth --threads "$threads"
    field worst_percent 50
    field miou_i 13/24
    field miou_c 5/9
    field miou_i_worst 1/2
    field miou_c_worst 5/9
    field miou_i_mean 121/240
    field miou_c_mean 5/9
done

#   x has 5 pixels in the truth, 4 predicted, 4 in both
printf 'x\ny\nx\n' >categories
expect 0 pred gt --classes 3 --json - --categories categories
field mean_category_iou 11/15
grep -F '"name": "x", "iou": 0.8' out >/dev/null || fail "the IoU of a category"
expect 0 pred gt --classes 3 --categories categories
table '^ +1  y +66\.67$'

#   class 1: two instances of one pixel, found, one false positive; class 2: one, half of it found;
#   class 0 has none
png ids/a.png gray8 4 1 0 0 5 6
png ids/sub/b.png gray16 2 2 3 3 3 0
expect 0 pred gt --classes 3 --json - --instances ids --categories categories
field mean_instance_iou 7/12
field mean_category_instance_iou 2/3
class 0 instance_iou null
class 2 instance_iou 0.5
expect 0 pred gt --classes 3 --json - --instances ids --first-id 6
field mean_instance_iou 1/2
expect 0 pred gt --classes 3 --instances ids
table '^ +2  class 2 +50\.00 +66\.67 +50\.00 +50\.00  2$'
png ids/sub/b.png gray16 1 2 3 3
rm ids/a.png
expect 1 pred gt --classes 3 --instances ids
problems 2
says "gt/a.png: no instances for this ground truth"
says "ids/sub/b.png: 1 x 2 pixels, but the ground truth has 2 x 2"

#   One wrong pixel in the middle: the band of class 0 is the rim, 24 pixels, in the prediction
#   also the 8 pixels around.
rm -rf p t
zeros=$(printf '0 %.0s' $(seq 24))
# shellcheck disable=SC2086
png t/x.png gray8 7 7 $zeros 0 $zeros
# shellcheck disable=SC2086
png p/x.png gray8 7 7 $zeros 1 $zeros
expect 0 p t --classes 2 --json - --boundary 0.02
field mean_boundary_iou 3/8
class 0 boundary_iou 0.75
class 1 boundary_iou 0
expect 0 p t --classes 2 --json - --boundary 1 # all is band
class 0 boundary_iou 0.97959183673469385

# ---- every file type is read as it is: no scaling, no colours ----
for kind in gray2 gray4 gray8 gray16 gray2i gray8i gray16i palette2 palette4 palette8 palette8i; do
    rm -rf p t
    png p/x.png "$kind" 3 3 0 1 2 3 3 2 1 0 3
    png t/x.png gray8 3 3 0 1 2 3 3 2 1 0 3
    expect 0 p t --classes 4 --json -
    field dataset_miou 1
    class 3 true_pixels 3
done
for kind in gray1 palette1; do
    rm -rf p t
    png p/x.png "$kind" 9 1 0 1 1 0 0 0 0 0 1
    png t/x.png gray8 9 1 0 1 1 0 0 0 0 0 1
    expect 0 p t --classes 2 --json -
    field dataset_miou 1
done

# With more than 255 classes 255 is one of them.
rm -rf p t
png p/x.png gray16 4 1 300 255 300 65535
png t/x.png gray16 4 1 300 255 299 65535
expect 0 p t --classes 400 --ignore 65535 --absent skip --json -
field dataset_miou 1/2
class 255 iou 1
class 300 iou 0.5
expect 1 p t --classes 400 --absent skip
says "t/x.png: label 65535 at column 3, row 0 must be in [0, 400)"

# ---- files that cannot be used are named and counted, the others evaluated ----
rm -rf p t
for name in good missing small color range cut garbage empty; do
    png "t/$name.png" gray8 2 2 0 1 1 1
    png "p/$name.png" gray8 2 2 0 1 1 1
done
rm p/missing.png
cp p/good.png p/extra.png
png p/small.png gray8 2 1 0 1
png p/color.png rgb8 2 2 0 1 1 1
png p/range.png gray8 2 2 0 1 5 1
head -c 50 t/cut.png >p/cut.png
echo "not a PNG file at all" >p/garbage.png
: >t/empty.png
mkdir t/folder.png
expect 1 p t --classes 2 --json -
problems 8
says "t/missing.png: no prediction for this ground truth"
says "p/extra.png: no ground truth for this prediction"
says "p/small.png: 2 x 1 pixels, but the ground truth has 2 x 2"
says "p/color.png: an RGB image is not supported"
says "p/range.png: label 5 at column 0, row 1 must be in [0, 2)"
says "p/cut.png: "
says "p/garbage.png: not a PNG file"
says "t/empty.png: not a PNG file"
field images 1
field dataset_miou 1
[ "$(grep -c '^    "[pt]/' out)" -eq 8 ] || fail "the JSON does not list 8 problems"

# Damaged in every place: either readable or named.
for kind in gray8 palette2 gray16i; do
    rm -rf p t
    png whole.png "$kind" 5 3 0 1 1 0 1 0 0 1 1 1 0 0 0 0 1
    mkdir p t
    "$make_png" --damage whole.png p
    for file in p/*; do
        cp whole.png "t/${file#p/}"
    done
    expect 1 p t --classes 2 --json -
    images=$(sed -n 's/^  "images": \(.*\),$/\1/p' out)
    files=$(find t -name '*.png' | wc -l)
    problems $((files - images))
    # A palette has colours that nobody looks at, but even they are under a checksum.
    [ "$images" -eq 0 ] || fail "$images damaged files went unnoticed"
done

# ---- Cityscapes ----
#   truth: road road road sidewalk void car      pred.: road road void road road car
#   road 2/4, sidewalk 0/1, car 1/1
rm -rf p t
frame=aachen_000000_000019
png "t/train/aachen/${frame}_gtFine_labelIds.png" gray8 6 1 7 7 7 8 0 26
png "t/train/aachen/${frame}_gtFine_color.png" rgb8 6 1 7 7 7 8 0 26
png "p/results/${frame}_leftImg8bit.png" gray8 6 1 7 7 0 7 7 26
expect 0 p t --cityscapes --absent skip --json -
field dataset_miou 1/2
field image_miou 1/2
field pixel_accuracy 3/5
class 0 iou 0.5
class 0 name '"road"'
class 13 iou 1
class 18 iou null
! grep '"class": 19' out >/dev/null || fail "void is no class"
png "p/results/${frame}_leftImg8bit.png" gray8 6 1 0 0 255 0 0 13
expect 0 p t --cityscapes --train-ids --absent skip --json -
field dataset_miou 1/2
field pixel_accuracy 3/5
expect 1 p t --cityscapes
says "label 255 at column 2, row 0 must be in [0, 34)"
png "p/${frame}.png" gray8 6 1 7 7 0 7 7 26
png p/bonn_000000_000019.png gray8 6 1 7 7 0 7 7 26
expect 1 p t --cityscapes
says "p/results/${frame}_leftImg8bit.png: not the only file with this name"
says "p/bonn_000000_000019.png: no ground truth for this prediction"
says "no ground truth with a prediction"

#   Instances: the car is taken for a caravan, which is a vehicle in the iIoU of categories alone.
rm -r p t/train/aachen/*_color.png
png "p/${frame}.png" gray8 6 1 7 7 0 7 7 29
png "t/train/aachen/${frame}_gtFine_instanceIds.png" gray16 6 1 7 7 7 8 0 26001
expect 0 p t --cityscapes --absent skip --json - --instances t
field mean_category_iou 3/8
field mean_instance_iou 0
field mean_category_instance_iou 1
class 13 instance_iou 0
class 11 instance_iou null
png "p/${frame}.png" gray8 6 1 0 0 255 0 0 13
expect 0 p t --cityscapes --train-ids --absent skip --json - --instances t
field mean_instance_iou 1
field mean_category_iou 7/8

# ---- in parts: an evaluation that is cut and merged gives the same bytes as the whole ----
# labels SEED COUNT FACTOR ADD: pseudo-random numbers in 0 .. 3, times FACTOR, plus ADD
labels() {
    awk -v seed="$1" -v n="$2" -v by="$3" -v add="$4" 'BEGIN {
        x = seed * 7919 + 1
        for (i = 0; i < n; i++) { x = (x * 16807) % 2147483647; printf "%d ", (int(x / 1000) % 4) * by + add } }'
}
rm -rf p t ids parts
mkdir parts
images='a-b a c/d c/d1 e f/g/h z'
seed=0
for name in $images; do
    seed=$((seed + 1))
    # shellcheck disable=SC2046
    png "t/$name.png" gray8 6 4 $(labels $seed 24 1 0)
    # shellcheck disable=SC2046
    png "p/$name.png" gray8 6 4 $(labels $((seed + 50)) 24 1 0)
    # shellcheck disable=SC2046
    png "ids/$name.png" gray8 6 4 $(labels $((seed + 90)) 24 1 0)
done
printf 'c/d\nz\n' >parts/list1
printf 'a\na-b\nf/g/h\n' >parts/list2
printf 'e\nc/d1\n' >parts/list3
printf 'x\ny\nx\nz\n' >parts/categories
printf 'one\ntwo\nthree\nfour "4"\n' >parts/names
all='--classes 4 --ignore 3 --names parts/names --categories parts/categories --instances ids
    --boundary 0.1 --fine-grained 40'
# cut_in_three ARGUMENTS...: counts three parts, and the whole to whole.table, whole.json
cut_in_three() {
    expect 0 "$@" --json whole.json
    mv out whole.table
    for part in 1 2 3; do
        expect 0 "$@" --list "parts/list$part" --save "parts/$part.submod" --quiet
    done
}
for absent in one zero skip truth; do
    # shellcheck disable=SC2086
    cut_in_three p t $all --absent $absent
    expect 0 --merge parts/1.submod parts/2.submod parts/3.submod --json merged.json
    cmp out whole.table || fail "the table of parts"
    cmp merged.json whole.json || fail "the JSON of parts"
    expect 0 --merge parts/3.submod parts/1.submod parts/2.submod --json -
    cmp out whole.json || fail "the order of parts shows"
    expect 0 --merge parts/2.submod parts/1.submod --save parts/12.submod --quiet
    expect 0 --merge parts/3.submod parts/12.submod --json merged.json
    cmp out whole.table || fail "the table of merged parts"
    cmp merged.json whole.json || fail "the JSON of merged parts"
done
#   The whole, saved and merged alone; a part that is damaged, cut off, foreign or not there.
expect 0 p t --classes 4 --save parts/whole.submod --json whole.json
expect 0 --merge parts/whole.submod --json -
cmp out whole.json || fail "the whole as one file"
expect 2 --merge parts/1.submod parts/whole.submod
says 'parts/whole.submod was counted with "ignore 255", but parts/1.submod with "ignore 3"'
[ ! -s out ] || fail "a report of parts that do not fit"
expect 2 --merge parts/1.submod parts/2.submod parts/12.submod
says "parts/12.submod and parts/2.submod have both counted the image a"
expect 2 --merge parts/1.submod parts/1.submod
expect 2 --merge parts/1.submod parts/4.submod
says "parts/4.submod cannot be read: No such file"
head -c 100 parts/2.submod >parts/cut.submod
expect 2 --merge parts/1.submod parts/cut.submod
says "parts/cut.submod is cut off"
{ head -c 300 parts/2.submod && printf X && tail -c +302 parts/2.submod; } >parts/bad.submod
expect 2 --merge parts/bad.submod
says "parts/bad.submod is damaged: its checksum is wrong"
expect 2 --merge names
says "names is not a file of libsubmod"
expect 2 --merge parts/1.submod --classes 4
says "--classes cannot be given with --merge"
expect 2 --merge parts/1.submod --absent skip
expect 2 --merge
says "--merge needs files"
expect 1 p t --classes 4 --quiet --save nowhere/1.submod
says "nowhere/1.submod cannot be written: No such file or directory"
#   Problems go with the part.
rm p/e.png
expect 1 p t --classes 4 --json whole.json --save parts/some.submod
cp err whole.err
expect 1 --merge parts/some.submod --json -
cmp out whole.json || fail "problems of a part in the JSON"
cmp err whole.err || fail "problems of a part on stderr"
#   Cityscapes.
rm -rf p t
for frame in a_000000_000001 a_000000_000002 b_000000_000001 c_000000_000001; do
    seed=$((seed + 1))
    # shellcheck disable=SC2046
    png "t/${frame%%_*}/${frame}_gtFine_labelIds.png" gray8 6 4 $(labels $seed 24 1 24)
    # shellcheck disable=SC2046
    png "t/${frame%%_*}/${frame}_gtFine_instanceIds.png" gray16 6 4 $(labels $seed 24 1000 24001)
    # shellcheck disable=SC2046
    png "p/$frame.png" gray8 6 4 $(labels $((seed + 9)) 24 1 24)
done
echo a_000000_000002 >parts/list1
printf 'c_000000_000001\na_000000_000001\n' >parts/list2
echo b_000000_000001 >parts/list3
cut_in_three p t --cityscapes --instances t --absent skip --fine-grained 50
expect 0 --merge parts/[123].submod --json merged.json
cmp out whole.table || fail "the table of parts of Cityscapes"
cmp merged.json whole.json || fail "the JSON of parts of Cityscapes"
#   Files with a right checksum that submod-miou cannot have written. The counts of Cityscapes would go
#   to 20 classes and 8 categories, where there is memory for those that the file has.
# craft CLASSES COUNTED CITYSCAPES TRAIN_IDS INSTANCES TEXT... -- NUMBER...
craft() {
    local classes=$1 counted=$2 cityscapes=$3 ids=$4 instances=$5
    shift 5
    "$make_counts" parts/crafted.submod "submod-miou format 2" "classes $classes" "counted classes $counted" \
        "ignore none" "absent 0" "cityscapes $cityscapes" "train ids $ids" "instances from $instances" \
        "boundary none" "fine-grained none" "$@"
}
of_ids="$((34 * 34 * 3 + 2 * 34)) $((34 * 34 * 3 + 2 * 34))*0"
names=()
for class in {0..18}; do
    names+=("class c$class")
done
# shellcheck disable=SC2086
craft 1 1 1 0 0 "categories none" "class x" -- 1 0 $of_ids
expect 2 --merge parts/crafted.submod
says 'says "cityscapes 1", but has other classes or categories than Cityscapes'
# shellcheck disable=SC2086
craft 19 20 1 0 0 "categories none" "${names[@]}" -- 400 400*0 $of_ids
expect 2 --merge parts/crafted.submod
says 'says "cityscapes 1", but has other classes or categories than Cityscapes'
# shellcheck disable=SC2086
craft 19 20 1 0 0 "categories 1" "${names[@]}" "category flat" "in category "{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1} \
    -- 400 400*0 $of_ids
expect 2 --merge parts/crafted.submod
says 'says "cityscapes 1", but has other classes or categories than Cityscapes'
# shellcheck disable=SC2086
craft 19 20 0 0 none "categories none" "${names[@]}" -- 400 400*0
expect 2 --merge parts/crafted.submod
says 'says "cityscapes 0", but has train ids or void predictions'
craft 1 1 0 0 none "categories none" "class x" -- 1 7
expect 0 --merge parts/crafted.submod
#   Many classes without their counts: refused before there is memory for them, 6.4 GB.
mapfile -t names < <(yes "class x" | head -n 20000)
craft 20000 20000 0 0 none "categories none" "${names[@]}" -- 1 0
(
    ulimit -S -v 4000000 2>/dev/null || true # sanitizers need more to begin with
    { "$miou" --help >out; } 2>/dev/null || ulimit -S -v unlimited 2>/dev/null || true
    expect 2 --merge parts/crafted.submod
    says "parts/crafted.submod: holds other numbers than submod-miou writes"
)

# ---- the calls of docs/miou.md, as they stand ----
png GT_DIR/a.png gray8 4 1 0 0 1 1
png "gtFine/val/aachen/${frame}_gtFine_labelIds.png" gray8 4 1 7 7 8 8
mkdir -p ImageSets/Segmentation
echo a >ImageSets/Segmentation/val.txt
export PART=1
cp ImageSets/Segmentation/val.txt part-1.txt
seq 8 >names.txt
printf '%s\n' a a a a b b b b >categories.txt
png IDS_DIR/a.png gray8 4 1 0 0 1 2
png "gtFine/val/aachen/${frame}_gtFine_instanceIds.png" gray16 4 1 7 7 8 8
mapfile -t calls < <(sed -n 's/^    submod-miou //p' "$page")
[ ${#calls[@]} -gt 0 ] || fail "docs/miou.md calls no submod-miou"
for call in "${calls[@]}"; do
    rm -rf PRED_DIR
    case $call in
    *--cityscapes*) png "PRED_DIR/$frame.png" gray8 4 1 7 7 8 8 ;;
    *) png PRED_DIR/a.png gray8 4 1 0 0 1 1 ;;
    esac
    eval "expect 0 $call"
    problems 0
    table '^dataset-mIoU +100\.00 %$'
done
[ -s scores.json ] || fail "docs/miou.md's scores.json is not there"

# ---- calls ----
expect 0 --help
grep -F -- --cityscapes out >/dev/null || fail "--help does not help"
expect 2
expect 2 pred gt
expect 2 pred --classes 3
expect 2 pred gt --classes 0
expect 2 pred gt --classes 3x
expect 2 pred gt --classes 3 --voc
expect 2 pred gt --classes 3 --train-ids
expect 2 pred gt --classes 3 --absent maybe
expect 2 pred gt --classes 3 --ignore x
expect 2 pred gt --cityscapes --ignore 3
expect 2 pred gt --classes 3 --threads 0
expect 2 pred gt --classes 3 --nonsense
expect 2 pred gt --classes 3 --boundary 0
expect 2 pred gt --classes 3 --boundary nan
expect 2 pred gt --classes 3 --fine-grained 101
expect 2 pred gt --classes 3 --first-id 3
expect 2 pred gt --classes 3 --instances gt --first-id -3
expect 2 pred gt --cityscapes --categories categories
expect 2 pred gt --classes 3 --categories nowhere
expect 2 pred gt --classes 4 --categories categories
says "categories: 3 categories for 4 classes"
expect 2 pred gt --classes 3 --instances nowhere
expect 2 pred gt --classes 4 --names names
says "names: 3 names for 4 classes"
expect 2 pred gt --classes 3 --names nowhere
expect 2 pred nowhere --classes 3
says "nowhere: No such file or directory"
expect 1 pred gt --classes 3 --json nowhere/results.json
mkdir -p nothing
expect 1 nothing nothing --classes 3
says "no ground truth with a prediction"
ln -s . pred/loop # leads back: not followed
expect 0 pred gt --classes 3
if [ -w /dev/full ]; then
    got=0
    "$miou" pred gt --classes 3 >/dev/full 2>err || got=$?
    [ "$got" -eq 1 ] || fail "a full disk went unnoticed"
fi
echo "miou test: all fine"
