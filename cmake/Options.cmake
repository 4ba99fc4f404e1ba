# Compiler flags for every target of the project.
option(PLIMSOLL_WERROR "Treat compiler warnings as errors" ON)
option(PLIMSOLL_EXAMPLES "Build the programs of examples/ without tests too; `cmake --install BUILD --component examples`" OFF)
option(PLIMSOLL_VM_TESTS "Also run the integration tests in a virtual machine (tests/vm)" ON)

find_program(CCACHE ccache)
if(CCACHE)
  # One cache for all checkouts, whoever runs the build.
  set(CMAKE_C_COMPILER_LAUNCHER /usr/bin/env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

# Most of a debug build's time is linking; LLVM's linker takes a tenth of the default one's. g++ of another
# architecture looks for linkers of that name only.
find_program(LLD ld.lld)
if(LLD AND CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=lld)
endif()

add_library(plimsoll_options INTERFACE)
target_compile_options(plimsoll_options INTERFACE
  -Wall -Wextra -Wpedantic -Wno-missing-field-initializers -Wnon-virtual-dtor -Woverloaded-virtual
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # g++ 12 sees overlapping copies in `"literal" + std::string` when it optimises (its bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # In a unit each file sees the others' names, and their definitions of types.
  $<IF:$<BOOL:${CMAKE_UNITY_BUILD}>,-Wshadow=local,-Wshadow>
  $<$<AND:$<BOOL:${CMAKE_UNITY_BUILD}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>
  # A test's failures name their files as here, and the compiler's cache serves every checkout.
  -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=
  $<$<BOOL:${PLIMSOLL_WERROR}>:-Werror>)
target_include_directories(plimsoll_options INTERFACE ${CMAKE_SOURCE_DIR}/src)

# The programs run as root on hostile input. CXXFLAGS of a distribution (dpkg-buildflags) bring
# its hardening and keep it; other optimised builds have this. _FORTIFY_SOURCE needs optimisation.
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
set(flags "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}")
if(flags MATCHES "-O[1-3s]" AND NOT PLIMSOLL_SANITIZE)
  if(NOT flags MATCHES "_FORTIFY_SOURCE")
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  endif()
  if(NOT flags MATCHES "-fstack-protector")
    add_compile_options(-fstack-protector-strong)
  endif()
  add_link_options(-Wl,-z,relro,-z,now)
endif()

option(PLIMSOLL_PORTABLE "For distributions with glibc 2.34 or later (tools/tarball.sh); only links differ" OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # Functions that nothing calls stay out of the programs.
  add_compile_options(-ffunction-sections -fdata-sections)
  # An unused library costs time at each start. Relocations as DT_RELR take a tenth of the size, and need
  # glibc 2.36.
  add_link_options(-Wl,--gc-sections -Wl,--as-needed)
  if(NOT PLIMSOLL_PORTABLE)
    add_link_options(-Wl,-z,pack-relative-relocs)
  endif()
endif()
