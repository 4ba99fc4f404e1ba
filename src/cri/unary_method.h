// Macros with which the service classes (*_service.cc) define their RPCs in a line each. The
// generated base class wants one virtual function per RPC, all of the same form, which no template
// can give. Each class has members `calls_` (Calls*) and `handlers_`; each file defines
// PLIMSOLL_CRI_SERVICE as "/package.Service/".
#ifndef PLIMSOLL_CRI_UNARY_METHOD_H_
#define PLIMSOLL_CRI_UNARY_METHOD_H_

#include <utility>

#include "cri/calls.h"

// An RPC that `handlers_` has under the same name.
#define PLIMSOLL_CRI_UNARY(Name, lane)                                                           \
  grpc::ServerUnaryReactor* Name(grpc::CallbackServerContext* context,                           \
                                 const v1::Name##Request* request, v1::Name##Response* response) \
      override {                                                                                 \
    return calls_->Unary(                                                                        \
        context, PLIMSOLL_CRI_SERVICE #Name, lane, request, response,                            \
        [this](auto&&... arguments) -> decltype(handlers_->Name(                                 \
                                        std::forward<decltype(arguments)>(arguments)...)) {      \
          return handlers_->Name(std::forward<decltype(arguments)>(arguments)...);               \
        });                                                                                      \
  }

// An RPC that is not supported.
#define PLIMSOLL_CRI_UNSUPPORTED(Name, why)                                              \
  grpc::ServerUnaryReactor* Name(grpc::CallbackServerContext*, const v1::Name##Request*, \
                                 v1::Name##Response*) override {                         \
    return calls_->Refuse(PLIMSOLL_CRI_SERVICE #Name, why);                              \
  }

// One that would answer with a stream.
#define PLIMSOLL_CRI_UNSUPPORTED_STREAM(Name, Request, Response, why)                            \
  grpc::ServerWriteReactor<v1::Response>* Name(grpc::CallbackServerContext*, const v1::Request*) \
      override {                                                                                 \
    return calls_->RefuseStream<v1::Response>(PLIMSOLL_CRI_SERVICE #Name, why);                  \
  }

#endif  // PLIMSOLL_CRI_UNARY_METHOD_H_
