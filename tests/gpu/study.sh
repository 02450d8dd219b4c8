#!/bin/sh
# The studies on real NVIDIA GPUs, step by step, each with a time limit of its own.
#
#   sh tests/gpu/study.sh [OUT [STEP...]]
#
# Run from a folder with bin/ and lib/ as the build makes them (the build folder, or a copy of it).
# OUT: folder for archives and answers, new or empty (default out/gpu). STEP: of "look smoke
# metadata all broken"; default: all of them, in this order; and
#   full       the nine lengths with full lookup, all probes: the before-matrix, with its totals
#   routes     each route of check_routes.py ("routes-linked", "routes-static", "routes-driver" and
#              "routes-python" are its programs alone)
#   kernels    the kernels' tests, and the model's tests over the device's kernels
#   sanitizer  memcheck, racecheck and initcheck over a part of the kernels' tests, within 3 minutes
#   two        two ranks on two GPUs over NCCL ("two-micro" and "two-paper": its studies alone)
#
# Environment: GPUS (default 0; 0,1,2,3 gives every rank a GPU of its own; of "two" 0,1), TORCH_LIB
# (folder of libtorch_cpu.so where the loader does not find it), HITPROOF_NCCL (file of NCCL where it
# is not found), SIZE (seconds for one paper study, default 540), PRESET (of "full", default paper),
# LENGTHS (of the paper study of "two"; default: the nine of the preset), BREAKS (names; default all),
# PYTHON (of "full" and "routes", default python3; one that has PyTorch and CuPy runs their routes
# too), COMPUTE_SANITIZER (default: that of /usr/local/cuda), DEVICE=sim (a rehearsal on the simulated
# device; of "two" without NCCL).
#
# Writes OUT/steps.txt (step, exit code, wanted code, seconds) and OUT/*.json (the audits). Exit
# status 0 where every step ended as it must: 0 for a sound engine, 1 for full lookup, 1 or 3 for a
# broken one (a break that leaves a check without anything to see ends inconclusive).
set -u

here=$(cd "$(dirname "$0")" && pwd) || exit 2
out=${1:-out/gpu}
[ $# -gt 0 ] && shift
steps=${*:-look smoke metadata all broken}
gpus=${GPUS:-0}
device=${DEVICE:-cuda}
size=${SIZE:-540}
python=${PYTHON:-python3}
breaks=${BREAKS:-save-no-wait load-skip-entry copy-short-row load-wrong-block state-wrong-boundary
  tail-contiguous-write tail-wrong-announce rank-resumes-elsewhere save-no-producer-wait
  load-read-early key-omits-weights prefill-split}

if [ ! -x bin/hitproof ] || [ ! -x bin/hitproof-engine ]; then
  echo "study.sh: no bin/hitproof here; run it from the folder that has bin/ and lib/" >&2
  exit 2
fi
if [ -n "${TORCH_LIB:-}" ]; then
  # The runtime library of the wheel lies in the nvidia folder beside torch.
  LD_LIBRARY_PATH=$TORCH_LIB:$TORCH_LIB/../../nvidia/cu13/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export LD_LIBRARY_PATH
fi
mkdir -p "$out/logs" || exit 2
wrong=0

# step NAME SECONDS WANTED COMMAND...: WANTED: exit codes that are right; output to OUT/logs/NAME.out, messages to OUT/logs/NAME.err.
step() {
  name=$1 limit=$2 wanted=$3
  shift 3
  begin=$(date +%s)
  timeout -k 20 "$limit" "$@" >"$out/logs/$name.out" 2>"$out/logs/$name.err"
  code=$?
  seconds=$(($(date +%s) - begin))
  printf '%-28s exit %3d, wanted %s, %4d s\n' "$name" "$code" "$wanted" "$seconds" |
    tee -a "$out/steps.txt"
  case " $wanted " in *" $code "*) return 0 ;; esac
  wrong=1
  tail -n 12 "$out/logs/$name.err"
  for log in "$out/$name"/*/data/logs/*.log; do
    [ -s "$log" ] && { echo "-- $log"; tail -n 4 "$log"; }
  done
  return 1
}

# study NAME SECONDS WANTED OPTIONS...: a study into OUT/NAME, its audit into OUT/NAME.json.
study() {
  study_name=$1 study_limit=$2 study_wanted=$3
  shift 3
  [ "$device" = cuda ] && set -- --gpus "$gpus" "$@"
  step "$study_name" "$study_limit" "$study_wanted" \
    bin/hitproof study boundary --device "$device" --quiet --json --out "$out/$study_name" "$@"
  study_code=$?
  cp "$out/logs/$study_name.out" "$out/$study_name.json"
  return $study_code
}

number() { sed -n "s/.*\"$1\": *\\([0-9]*\\).*/\\1/p"; }

micro_lengths() {
  c=$(bin/hitproof-engine describe --preset micro | number checkpoint)
  echo "$((2 * c - 1)),$((2 * c)),$((2 * c + 1)),$((3 * c))"
}

# two_ranks look|micro|paper: two ranks on two GPUs over NCCL; on the simulated device without it.
two_ranks() {
  gpus=${GPUS:-0,1}
  over_nccl="--collectives nccl"
  other_way="--collectives ipc"
  # The simulated device has one way to sum: there, other seeds make the arm that has no control.
  [ "$device" = cuda ] || { over_nccl="" other_way="--seed 43"; }
  # Options without spaces in them, or none: they are to be split.
  # shellcheck disable=SC2086
  case $1 in
  look)
    nvidia-smi topo -m >"$out/logs/topology.out" 2>&1
    step two-look 60 0 bin/hitproof-engine describe --preset paper --tp 2 --device "$device" \
      --gpus "$gpus" $over_nccl || exit 1
    cp "$out/logs/two-look.out" "$out/two-look.json"
    # The operations by themselves; 77: no two GPUs.
    if [ "$device" = cuda ] && [ -x bin/gpu_nccl_test ]; then
      step two-nccl 300 0 bin/gpu_nccl_test
    fi
    ;;
  micro)
    study two-micro 240 0 --preset micro --tp 2 --probes all $over_nccl
    # Its control: over an arm that sums another way nothing is proved.
    study two-other-arm 240 "1 3" --preset micro --tp 2 $other_way --arms candidate \
      --reference "$out/two-micro/control"
    ;;
  paper)
    study two-paper "$size" 0 --preset paper --tp 2 --probes all $over_nccl \
      ${LENGTHS:+--lengths "$LENGTHS"}
    ;;
  esac
}

# full_lookup: the faulty lookup must be refuted, and by these figures.
full_lookup() {
  preset=${PRESET:-paper}
  step full-look 60 0 bin/hitproof-engine describe --preset "$preset" --device "$device" || return
  study "full-$preset" "$size" 1 --preset "$preset" --lookup full --probes all
  step full-figures 60 0 "$python" "$here/full_lookup.py" "$out/full-$preset.json" \
    "$out/logs/full-look.out"
  cat "$out/logs/full-figures.out"
}

# check_routes NAME SECONDS ARGUMENTS...: check_routes.py, and its lines.
check_routes() {
  check_name=$1 check_limit=$2
  shift 2
  step "$check_name" "$check_limit" 0 "$python" "$here/check_routes.py" --jobs 4 "$@"
  cat "$out/logs/$check_name.out"
}

# routes linked|static|driver|python: the routes of one program.
routes() {
  case $device-$1 in
  cuda-linked) check_routes routes-linked 400 bin/hitproof bin/gpu_routes ;;
  cuda-static) check_routes routes-static 400 bin/hitproof bin/gpu_routes_static ;;
  cuda-driver)
    check_routes routes-driver 100 --only linked_driver,linked_proc_address bin/hitproof \
      bin/gpu_routes_driver
    ;;
  cuda-python)
    check_routes routes-python 200 bin/hitproof "$here/routes/ctypes_copies.py" \
      "$here/routes/torch_copies.py" "$here/routes/cupy_copies.py"
    ;;
  # One program has the routes of all three here.
  *-linked) check_routes routes-linked 200 --no-cross-check bin/hitproof bin/gpu_routes_on_sim ;;
  *-python)
    LD_LIBRARY_PATH=$PWD/lib/hitproof/sim${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
      check_routes routes-python 60 --no-cross-check bin/hitproof "$here/routes/ctypes_copies.py"
    ;;
  esac
}

# kernels: on a machine without a device the tests of the kernels say that they were skipped (77).
kernels() {
  device_kernels=$PWD/lib/hitproof/libhitproof_model_cuda.so
  run=0
  [ "$device" = cuda ] || { run=77 device_kernels=; }
  step kernels-page 300 "$run" bin/gpu_page_kernels_test
  step kernels-model 300 "$run" bin/gpu_model_kernels_test
  step kernels-forward 300 0 env ${device_kernels:+"HITPROOF_MODEL_KERNELS=$device_kernels"} \
    bin/model_device_test
  step kernels-parity 300 0 env ${device_kernels:+"HITPROOF_MODEL_KERNELS=$device_kernels"} \
    HITPROOF_PARITY_VECTORS="$here/../parity/vectors" bin/model_parity_test
  grep -h "kda_chunk" "$out/logs/kernels-parity.out"
}

# sanitizer: what one tool finds ends in exit code 9. Left out: the waits, and the largest shapes, which
# take minutes under a tool that looks at every access.
sanitizer() {
  tool_program=${COMPUTE_SANITIZER:-/usr/local/cuda/bin/compute-sanitizer}
  if [ ! -x "$tool_program" ]; then
    echo "study.sh: no $tool_program; name it with COMPUTE_SANITIZER" >&2
    exit 2
  fi
  run=0
  [ "$device" = cuda ] || run=77
  ends=$(($(date +%s) + 180))
  for tool in memcheck racecheck initcheck; do
    for program in gpu_page_kernels_test gpu_model_kernels_test; do
      case $program in
      gpu_page_kernels_test) filter='-Delay.*:*Mix.*/0:*Mix.*/3:*Mix.*/4:*Mix.*/5:*Mix.*/6:*Mix.*/7' ;;
      *) filter='-Attention.ASelection*:Experts.MoreRows*:Gemm.EveryTile*:IndexerTopk.*' ;;
      esac
      left=$((ends - $(date +%s)))
      [ "$left" -gt 0 ] || left=1
      step "$tool-$program" "$left" "$run" "$tool_program" --tool "$tool" --error-exitcode 9 \
        --print-limit 20 "bin/$program" --gtest_filter="$filter"
      tail -n 1 "$out/logs/$tool-$program.out"
    done
  done
}

for wanted_step in $steps; do
  case $wanted_step in
  look)
    nvidia-smi >"$out/logs/nvidia-smi.out" 2>&1
    step look 60 0 bin/hitproof-engine describe --preset paper --device "$device" --gpus "$gpus" ||
      exit 1
    cp "$out/logs/look.out" "$out/look.json"
    ;;
  smoke)
    # One length, few tokens: shows in a minute whether anything runs at all.
    c=$(bin/hitproof-engine describe --preset micro | number checkpoint)
    study smoke 60 0 --preset micro --lengths "$((2 * c + 1))" --tokens 8 --save-delay-ms 50 \
      --probes metadata
    ;;
  metadata)
    study paper-metadata "$size" 0 --preset paper --probes metadata
    ;;
  all)
    study paper-all "$size" 0 --preset paper --probes all
    ;;
  broken)
    lengths=$(micro_lengths)
    study clean 240 0 --preset micro --lengths "$lengths" --tokens 16 --save-delay-ms 50
    for name in $breaks; do
      study "broken-$name" 240 "1 3" --preset micro --lengths "$lengths" --tokens 16 \
        --save-delay-ms 50 --arms candidate --reference "$out/clean/control" --break "$name"
    done
    ;;
  full)
    full_lookup
    ;;
  routes)
    for program in linked static driver python; do routes $program; done
    ;;
  routes-linked | routes-static | routes-driver | routes-python)
    routes "${wanted_step#routes-}"
    ;;
  kernels) kernels ;;
  sanitizer) sanitizer ;;
  two)
    two_ranks look
    two_ranks micro
    two_ranks paper
    ;;
  two-micro | two-paper)
    two_ranks "${wanted_step#two-}"
    ;;
  *)
    echo "study.sh: no step '$wanted_step'" >&2
    exit 2
    ;;
  esac
done
exit $wrong
