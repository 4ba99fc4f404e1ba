#!/bin/bash
# Runs what a release is checked by beside `make check`: tools/check_release.sh [STEP]...     (default: all steps)
#
#   bookworm  packages of HEAD built twice, equal byte for byte, with the tarball and lintian; then their life in a
#             virtual machine of Debian 12
#   trixie    the same of Debian 13
#   suites    `make check` in a root of the Debian release that this machine doesn't have
#   arm64     packages cross built; unit suites by qemu-user, those that ask the kernel and a pod in a virtual machine
#   matrix    OCI runtimes, skopeo, CNI plugins and containerd of other releases (docs/matrix.md)
#
# Each step's output is in build/check-release/STEP.log. A step that fails doesn't keep the others from running; the
# exit code is 0 if all passed. All of it takes most of a day on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
logs=build/check-release
arm_build=build/arm64
# Suites that qemu-user can run, and those for the virtual machine.
arm_suites=(base base_text base_programs resources topology topology_zones topology_machine image image_names
  image_layers image_registry runtime_spec)
arm_kernel_suites=(linux linux_namespaces linux_cgroup)
# Files of the integration suite, which run pods there.
arm_pods=(pods limits exec)

# The virtual machine's jobs download nothing themselves.
build_here() {
  tests/vm/kernel.sh
  cmake --preset check
  cmake --build --preset check
}

packages() {
  local own
  own=$(dpkg --print-architecture)
  build_here
  tools/packages_twice.sh "$1"
  tests/vm/packages.py --build build/check --dist "$1" --packages "build/packages/$1-$own/result"
}
bookworm() { packages bookworm; }
trixie() { packages trixie; }

suites() {
  local other=trixie
  ! grep -q '^VERSION_CODENAME=trixie' /etc/os-release || other=bookworm
  tools/in_root "$other" make check
}

arm64() {
  local root=build/packages/bookworm-arm64/root suite
  # The machine's disk has every program.
  local targets=(plimsoll-agent integration_test)
  tests/vm/kernel.sh arm64
  tests/vm/root.sh arm64
  # Debian 13's qemu-user: that of Debian 12 starts no programs for ours.
  ROOT_ONLY=1 tools/packages.sh trixie arm64
  local qemu=$PWD/build/packages/trixie-arm64/root/usr/bin/qemu-aarch64
  tools/packages.sh bookworm arm64
  chroot "$root" apt-get -q -y --no-install-recommends install libgtest-dev:arm64 libgmock-dev:arm64 python3
  for suite in "${arm_suites[@]}" "${arm_kernel_suites[@]}"; do targets+=("${suite}_test"); done
  tools/cross arm64 cmake --preset check -B "$arm_build" -DCMAKE_TOOLCHAIN_FILE=cmake/arm64.cmake
  tools/cross arm64 cmake --build "$arm_build" --target "${targets[@]}"
  for suite in "${arm_suites[@]}"; do
    tools/cross --qemu "$qemu" arm64 "$arm_build/bin/${suite}_test" --gtest_brief=1
  done
  tests/vm/suite.py --build "$arm_build" --show $(printf ' --only %s' "${arm_kernel_suites[@]}" "${arm_pods[@]}")
}

matrix() {
  build_here
  tools/matrix
  tools/matrix --vm
  tools/matrix --containerd
}

known=(bookworm trixie suites arm64 matrix)
steps=("$@")
[ $# != 0 ] || steps=("${known[@]}")
for step in "${steps[@]}"; do
  case " ${known[*]} " in
    *" $step "*) ;;
    *) echo "check_release: no step $step: ${known[*]}" >&2; exit 1 ;;
  esac
done

mkdir -p "$logs"
failed=0
for step in "${steps[@]}"; do
  started=$SECONDS
  result=passed
  # A shell of its own, outside of a condition: the step ends with the first command that fails.
  set +e
  (set -e; "$step") >"$logs/$step.log" 2>&1
  [ $? = 0 ] || result=FAILED failed=1
  set -e
  printf '%-10s %s  %5d s  %s\n' "$step" "$result" $((SECONDS - started)) "$logs/$step.log"
done
exit "$failed"
