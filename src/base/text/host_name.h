// This machine's name.
#ifndef PLIMSOLL_BASE_TEXT_HOST_NAME_H_
#define PLIMSOLL_BASE_TEXT_HOST_NAME_H_

#include <sys/utsname.h>

#include <string>

#include "absl/strings/ascii.h"

namespace plimsoll {

// In lower case, as names of nodes are.
inline std::string HostNameOfNode() {
  utsname names = {};
  uname(&names);
  return absl::AsciiStrToLower(names.nodename);
}

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_TEXT_HOST_NAME_H_
