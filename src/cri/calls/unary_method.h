// Macros that let service classes (*_service.cc) define an RPC in one line. The generated base
// class wants one virtual function per RPC, all of one form that no template can give. Each class
// has a member `calls_` (Calls*); each file defines PLIMSOLL_CRI_SERVICE as "/package.Service/" and
// PLIMSOLL_CRI_PACKAGE as the messages' namespace, and undefines both at its end.
#ifndef PLIMSOLL_CRI_CALLS_UNARY_METHOD_H_
#define PLIMSOLL_CRI_CALLS_UNARY_METHOD_H_

#include <utility>

#include "cri/calls/calls.h"
#include "cri/calls/list_stream.h"

// An RPC that `rpcs` (a pointer) has under the same name.
#define PLIMSOLL_CRI_UNARY(rpcs, Name, lane)                                                \
  grpc::ServerUnaryReactor* Name(grpc::CallbackServerContext* context,                      \
                                 const PLIMSOLL_CRI_PACKAGE::Name##Request* request,        \
                                 PLIMSOLL_CRI_PACKAGE::Name##Response* response) override { \
    return calls_->Unary(                                                                   \
        context, PLIMSOLL_CRI_SERVICE #Name, lane, request, response,                       \
        [this](auto&&... arguments) -> decltype((rpcs)->Name(                               \
                                        std::forward<decltype(arguments)>(arguments)...)) { \
          return (rpcs)->Name(std::forward<decltype(arguments)>(arguments)...);             \
        });                                                                                 \
  }

// An RPC whose answer `rpcs` writes as bytes (Calls::UnaryInBytes).
#define PLIMSOLL_CRI_UNARY_IN_BYTES(rpcs, Name, lane)                                         \
  grpc::ServerUnaryReactor* Name(grpc::CallbackServerContext* context,                        \
                                 const grpc::ByteBuffer* request, grpc::ByteBuffer* response) \
      override {                                                                              \
    return calls_->UnaryInBytes<PLIMSOLL_CRI_PACKAGE::Name##Request>(                         \
        context, PLIMSOLL_CRI_SERVICE #Name, lane, *request, response,                        \
        [this](const PLIMSOLL_CRI_PACKAGE::Name##Request& asked, std::string* answer) {       \
          return (rpcs)->Name(asked, answer);                                                 \
        });                                                                                   \
  }

// An RPC that answers with a list in parts, whose source (list_parts.h) `rpcs` gives under the
// same name.
#define PLIMSOLL_CRI_LIST(rpcs, Name)                                                              \
  grpc::ServerWriteReactor<PLIMSOLL_CRI_PACKAGE::Name##Response>* Name(                            \
      grpc::CallbackServerContext*, const PLIMSOLL_CRI_PACKAGE::Name##Request* request) override { \
    static constexpr char kMethod[] = PLIMSOLL_CRI_SERVICE #Name;                                  \
    calls_->Trace(kMethod, *request);                                                              \
    return ListStream<PLIMSOLL_CRI_PACKAGE::Name##Response>::Open(calls_, kMethod,                 \
                                                                  (rpcs)->Name(*request));         \
  }

// An RPC that is not supported.
#define PLIMSOLL_CRI_UNSUPPORTED(Name, why)                                        \
  grpc::ServerUnaryReactor* Name(grpc::CallbackServerContext*,                     \
                                 const PLIMSOLL_CRI_PACKAGE::Name##Request*,       \
                                 PLIMSOLL_CRI_PACKAGE::Name##Response*) override { \
    return calls_->Refuse(PLIMSOLL_CRI_SERVICE #Name, why);                        \
  }

#endif  // PLIMSOLL_CRI_CALLS_UNARY_METHOD_H_
