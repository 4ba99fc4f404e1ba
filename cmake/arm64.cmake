# Toolchain of a cross build for arm64 on a Debian machine of another architecture:
#
#   cmake --preset dev -B build/arm64 -DCMAKE_TOOLCHAIN_FILE=cmake/arm64.cmake
#
# It needs crossbuild-essential-arm64 and the libraries of packaging/debian-packages as NAME:arm64 (tests/vm/README.md).
# protoc and gRPC's plugin are the machine's own: Debian's packages of libraries for arm64 find them in /usr/bin.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(PKG_CONFIG_EXECUTABLE /usr/bin/aarch64-linux-gnu-pkg-config)
# Runs the program that writes its own man page, and the tests (tools/cross).
find_program(PLIMSOLL_EMULATOR NAMES qemu-aarch64 qemu-aarch64-static)
if(PLIMSOLL_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${PLIMSOLL_EMULATOR})
endif()
