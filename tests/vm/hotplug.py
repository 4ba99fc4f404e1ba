#!/usr/bin/env python3
"""Boots the virtual machine with room for more hardware, and adds and removes it for hotplug_test.cc.

    tests/vm/hotplug.py --build build/dev

A CPU and memory come and memory goes while streams are open. Then agent_hotplug_test.cc and
agent_swap_test.cc run on the same machine. The last act takes the CPU out, which Debian's QEMU 7.2 does
not always live through: its end is no failure then, and the guest's words before it are printed. The
boot's results are in BUILD/vm/hotplug/results. QEMU's machine for arm64 plugs nothing in: skipped there.
"""

import argparse
import pathlib
import sys

import architectures
import job
import vm

SKIPPED = 77  # to CTest
CPU = {"socket-id": 2, "die-id": 0, "core-id": 0, "thread-id": 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--timeout", type=float, default=600)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    directory = build / "vm/hotplug"
    programs = [job.program(build, name) for name in ("hotplug", "agent_hotplug", "agent_swap")]
    kernel = job.make_disk(build, directory, programs)
    options = vm.Options(kernel=kernel, images=directory, results=directory / "results",
                         job=job.HERE / "hotplug_job", arguments=programs, hotplug=True,
                         timeout=arguments.timeout)
    if not options.architecture.hotplug:
        # GoogleTest's form: tools/run_tests.sh lists the reason.
        print(f"hotplug.py: Skipped\nQEMU's machine for {options.architecture.name} plugs in neither CPUs nor "
              "memory\n[  SKIPPED ] hot-plug (0 ms)")
        return SKIPPED
    with vm.Vm(options, show=sys.stdout.buffer) as machine:
        try:
            machine.wait_for("plug in a CPU")
            machine.qmp("device_add", driver=architectures.AMD64.cpu.split(",")[0] + "-x86_64-cpu",
                        id="cpu8", **CPU)
            machine.wait_for("plug in memory")
            machine.qmp("object-add", **{"qom-type": "memory-backend-ram", "id": "memory1",
                                         "size": 256 << 20})
            machine.qmp("device_add", driver="pc-dimm", id="dimm", memdev="memory1", node=1)
            machine.wait_for("take the memory out")
            machine.qmp("device_del", id="dimm")
            machine.wait_for("give the agent's node memory")
            machine.qmp("object-add", **{"qom-type": "memory-backend-ram", "id": "memory2",
                                         "size": 256 << 20})
            machine.qmp("device_add", driver="pc-dimm", id="dimm2", memdev="memory2", node=1)
            machine.wait_for("give the swapping node memory")
            machine.qmp("object-add", **{"qom-type": "memory-backend-ram", "id": "memory3",
                                         "size": 256 << 20})
            machine.qmp("device_add", driver="pc-dimm", id="dimm3", memdev="memory3", node=0)
            machine.wait_for("take the CPU out")
            try:
                machine.qmp("device_del", id="cpu8")
                machine.wait_for("the stream was told")
                machine.wait_for("its container runs on")
                return machine.wait()
            except (vm.VmEnded, OSError) as error:
                print(f"hotplug.py: after the CPU was taken out: {error}")
                return 0
        except vm.VmError as error:
            console = "\n".join(machine.console().splitlines()[-60:])
            print(f"{console}\nhotplug.py: {error}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
