// Runs a network's plugins as one: each command goes through all of them. Source: the CNI
// specification, "Execution of network configurations".
#ifndef PLIMSOLL_NETWORK_CHAIN_H_
#define PLIMSOLL_NETWORK_CHAIN_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "network/attachment.h"
#include "network/plugins.h"

namespace plimsoll::network {

// A plugin's standard input: its object with name, version and, unless empty, those of the record's
// capabilities that it declares, and the previous result.
std::string InputOf(const NetworkConfig& config, const PluginConfig& plugin,
                    const std::map<std::string, std::string>& capabilities, const Result* previous);

// Runs each plugin in turn with the result of the one before it; returns the last result. After a
// failure plugins may hold resources: call Delete.
absl::StatusOr<Result> Add(const Plugins& plugins, const Record& record);
// Runs them in reverse order, with the recorded result, and stops at the first failure: plugins
// still to come may hold what the failed one needs. Repeating it is OK. `has_netns`: false when the
// namespace is gone.
absl::Status Delete(const Plugins& plugins, const Record& record, bool has_netns);
// OK if the version has no CHECK, the configuration disables it, or there is no result.
absl::Status Check(const Plugins& plugins, const Record& record);
// `valid`: the id and interface of all attachments of that network in use. Runs every plugin, even
// after failures. OK if the version has no GC or the configuration disables it.
absl::Status CollectGarbage(const Plugins& plugins, const NetworkConfig& config,
                            const std::vector<std::pair<std::string, std::string>>& valid);
// Asks the plugins, until `deadline` at most, whether they could serve an ADD now. OK if the
// version has no STATUS.
absl::Status AskStatus(const Plugins& plugins, const NetworkConfig& config, absl::Time deadline);

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_CHAIN_H_
