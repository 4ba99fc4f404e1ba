// For tests: clients that connect to a server's unix socket and never say a word.
#ifndef PLIMSOLL_BASE_SILENT_CLIENTS_FOR_TEST_H_
#define PLIMSOLL_BASE_SILENT_CLIENTS_FOR_TEST_H_

#include <sys/socket.h>
#include <sys/un.h>

#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace plimsoll {

// Connects `count` of them, one after the other. Those that the server refuses count too.
inline std::vector<UniqueFd> SilentClients(const std::string& path, int count) {
  std::vector<UniqueFd> clients;
  for (int i = 0; i < count; ++i) {
    UniqueFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) break;
    clients.push_back(std::move(client));
  }
  return clients;
}

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_SILENT_CLIENTS_FOR_TEST_H_
