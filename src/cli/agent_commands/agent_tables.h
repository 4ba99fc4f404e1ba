// Tables of an agent's objects, for `plimsoll get`.
#ifndef PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_TABLES_H_
#define PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_TABLES_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/terminal/object_fields.h"

namespace plimsoll::cli {

struct TableShape {
  bool wide = false;
  bool namespaces = false;  // a column for the namespace
};

// Rows that come one by one get the widths of the first.
class AgentPodTable {
 public:
  explicit AgentPodTable(TableShape shape) : shape_(shape) {}

  // The header and a row for each pod.
  std::string Whole(const std::vector<KubeObject>& pods, absl::Time now);
  // A row as wide as those before.
  std::string Row(const KubeObject& pod, absl::Time now);

 private:
  std::vector<std::string> Header() const;
  std::vector<std::string> Cells(const KubeObject& pod, absl::Time now) const;
  void Widen(const std::vector<std::string>& cells);

  const TableShape shape_;
  std::vector<std::string> widest_;  // of each column, the longest cell so far
};

// The node, with what `pods` request of what is allocatable.
std::string AgentNodeTable(const KubeObject& node, const std::vector<KubeObject>& pods, bool wide,
                           absl::Time now);

// v1 Events, a line each, in their order.
std::string AgentEventTable(const std::vector<KubeObject>& events, TableShape shape,
                            absl::Time now);

// v1 ResourceQuotas, a line for each class.
std::string AgentQuotaTable(const std::vector<KubeObject>& quotas, bool namespaces);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_TABLES_H_
