// Calls of methods that no service has.
#ifndef PLIMSOLL_CRI_CALLS_UNKNOWN_METHODS_H_
#define PLIMSOLL_CRI_CALLS_UNKNOWN_METHODS_H_

#include <grpcpp/generic/async_generic_service.h>

#include <memory>

#include "cri/calls/calls.h"

namespace plimsoll::cri {

// Answers each call with UNIMPLEMENTED and the method's name, and reports it to the observer of
// `calls`, which must outlive this, as method "/unknown/unknown": a client may make up any number
// of names.
std::unique_ptr<grpc::CallbackGenericService> NewUnknownMethods(const Calls* calls);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_CALLS_UNKNOWN_METHODS_H_
