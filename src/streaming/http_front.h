// The path from a connection to a session: TLS, the HTTP request, its token, the protocol.
#ifndef PLIMSOLL_STREAMING_HTTP_FRONT_H_
#define PLIMSOLL_STREAMING_HTTP_FRONT_H_

#include "streaming/async.h"
#include "streaming/command_session.h"
#include "streaming/link.h"
#include "streaming/routes.h"
#include "streaming/socket.h"
#include "streaming/tokens.h"

namespace plimsoll::streaming {

// All references outlive the connection.
struct FrontContext {
  SessionContext session;
  Tokens& tokens;
  LinkLimits limits;
};

// Serves one connection, from its first byte to its end.
asio::awaitable<void> ServeConnection(FrontContext context, Socket socket);

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_HTTP_FRONT_H_
