// The place of the agent's socket.
#ifndef PLIMSOLL_AGENT_HTTP_SOCKET_PATH_H_
#define PLIMSOLL_AGENT_HTTP_SOCKET_PATH_H_

namespace plimsoll::agent {

// Unless the agent's configuration, or the caller, names another.
inline constexpr char kDefaultAgentSocket[] = "/run/plimsoll/agent.sock";

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_HTTP_SOCKET_PATH_H_
