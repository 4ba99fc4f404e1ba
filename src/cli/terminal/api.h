// Short names for the messages of the daemon's services.
#ifndef PLIMSOLL_CLI_TERMINAL_API_H_
#define PLIMSOLL_CLI_TERMINAL_API_H_

#include "cri/runtime/v1/api.pb.h"
#include "plimsoll/v1/node.pb.h"

namespace plimsoll::cli {

namespace cri = ::runtime::v1;
namespace node = ::plimsoll::v1;

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_TERMINAL_API_H_
