#!/bin/bash
# Runs all benchmarks of the release build and leaves their results in build/bench/.
#
#   tools/bench.sh [FLAG...]     flags are those of bench_node; see bench_node --help
set -euo pipefail
cd "$(dirname "$0")/.."
bin=build/release/bin
mkdir -p build/bench

echo "== start of a pod beside a bare crun run"
"$bin/bench_start"
echo
echo "== the same without a rest between two starts"
"$bin/bench_start" --rest 0
echo
echo "== the node's runtime, call by call"
"$bin/bench_node" --json build/bench/node.json --svg build/bench/node.svg "$@"
echo
# The other programs don't know bench_node's own flags.
peers=()
while [ $# -gt 0 ]; do
  case $1 in
    --socket | --image) peers+=("$1" "$2") && shift 2 ;;
    *) shift ;;
  esac
done
echo "== logs, streams of events, and pods that come and go"
"$bin/bench_endurance" --json build/bench/endurance.json "${peers[@]}"
echo
echo "== commands by the streaming server, and attached clients"
"$bin/bench_streaming" "${peers[@]}"
echo
echo "== pods with a network of their own"
"$bin/bench_network" "${peers[@]}"
echo
echo "== a change of a running container's class"
"$bin/bench_classes"
"$bin/bench_rdt"
echo
echo "== a change of a running container's resources"
"$bin/bench_update"
echo
echo "== a question to kubelet's sockets before a pod"
"$bin/bench_kubelet"
echo
echo "== a container that a plugin is asked about"
"$bin/bench_nri"
echo
echo "== the topology of a large machine"
"$bin/bench_topology"
echo
echo "== the admission of a pod with CPUs, memory and devices of its own"
"$bin/bench_allocation"
"$bin/bench_agent_pods" /dev/shm
"$bin/bench_agent_pods" "$PWD/build/bench"
echo
echo "== libraries"
"$bin/bench_library" --benchmark_out=build/bench/library.json --benchmark_out_format=json 2>/dev/null
echo
echo "results: build/bench/node.json, node.svg, endurance.json, library.json"
