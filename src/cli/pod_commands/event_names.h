// Names of the pods and containers in events, which carry ids alone.
#ifndef PLIMSOLL_CLI_POD_COMMANDS_EVENT_NAMES_H_
#define PLIMSOLL_CLI_POD_COMMANDS_EVENT_NAMES_H_

#include <map>
#include <string>
#include <vector>

#include "cli/terminal/api.h"

namespace plimsoll::cli {

// Lists name what exists now. For removed objects the events of creation and removal give the name:
// it is their message.
class EventNames {
 public:
  void Add(const std::vector<cri::PodSandbox>& pods, const std::vector<cri::Container>& containers);
  void Learn(const node::Event& event);
  // Forgets the object of a removal: no later event is about it.
  void Forget(const node::Event& event);

  // "namespace/name"; empty: unknown.
  std::string PodOf(const node::Event& event) const;
  std::string ContainerOf(const node::Event& event) const;

 private:
  std::map<std::string, std::string> pods_;        // by id
  std::map<std::string, std::string> containers_;  // by id
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_POD_COMMANDS_EVENT_NAMES_H_
