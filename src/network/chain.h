// A network's plugins as one: each command goes through all of them. Source: the CNI specification,
// "Execution of network configurations".
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

// What a plugin's standard input holds: its object with name, version and, unless empty, what it
// declares of the record's capabilities, and the result before it.
std::string InputOf(const NetworkConfig& config, const PluginConfig& plugin,
                    const std::map<std::string, std::string>& capabilities, const Result* previous);

// Each plugin in turn, with the result of the one before it; the result of the last. After a
// failure plugins may hold something: Delete.
absl::StatusOr<Result> Add(const Plugins& plugins, const Record& record);
// In reverse order, with the recorded result. It stops at the first that fails: what comes after it
// may be needed by what is left. Done again, it is OK. `netns`: false when that is gone.
absl::Status Delete(const Plugins& plugins, const Record& record, bool has_netns);
// OK where the version has no CHECK, the configuration asks for none, or there is no result.
absl::Status Check(const Plugins& plugins, const Record& record);
// `ids`: of all attachments of that network that are in use, each with its interface. Every plugin
// is asked, whatever those before it came to. OK where the version has no GC or the configuration
// asks for none.
absl::Status CollectGarbage(const Plugins& plugins, const NetworkConfig& config,
                            const std::vector<std::pair<std::string, std::string>>& valid);
// Whether the plugins could serve an ADD now, asked for no longer than until `deadline`. OK where
// the version has no STATUS.
absl::Status AskStatus(const Plugins& plugins, const NetworkConfig& config, absl::Time deadline);

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_CHAIN_H_
