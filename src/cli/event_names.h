// The names of the pods and containers that events are about.
#ifndef PLIMSOLL_CLI_EVENT_NAMES_H_
#define PLIMSOLL_CLI_EVENT_NAMES_H_

#include <map>
#include <string>
#include <vector>

#include "cli/api.h"

namespace plimsoll::cli {

// Lists tell of what is there now. Of what has gone the events of its own making and removal tell:
// their message is the name.
class EventNames {
 public:
  void Add(const std::vector<cri::PodSandbox>& pods, const std::vector<cri::Container>& containers);
  void Learn(const node::Event& event);
  // What the event says is removed: no event follows that is about it.
  void Forget(const node::Event& event);

  // "namespace/name"; empty where nothing has told it.
  std::string PodOf(const node::Event& event) const;
  std::string ContainerOf(const node::Event& event) const;

 private:
  std::map<std::string, std::string> pods_;        // by id
  std::map<std::string, std::string> containers_;  // by id
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_EVENT_NAMES_H_
