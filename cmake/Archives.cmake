# gRPC, protobuf, Abseil and yaml-cpp as archives (.a) of the same Debian packages: sixty shared
# libraries cost a program 10 ms before main and some MiB of relocated pages (docs/decisions.md).
set(archives OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(archives ON)
endif()
option(PLIMSOLL_ARCHIVES "Link gRPC, protobuf, Abseil and yaml-cpp statically" ${archives})

# Replaces each imported shared library with a matching name by the archive beside it.
function(plimsoll_use_archives names)
  get_directory_property(targets IMPORTED_TARGETS)
  list(FILTER targets INCLUDE REGEX "${names}")
  foreach(target IN LISTS targets)
    foreach(config "" _NONE _RELEASE)
      get_target_property(shared ${target} IMPORTED_LOCATION${config})
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${shared}")
      if(shared AND NOT shared STREQUAL archive AND EXISTS "${archive}")
        set_property(TARGET ${target} PROPERTY IMPORTED_LOCATION${config} "${archive}")
      endif()
    endforeach()
  endforeach()
endfunction()
