// Output of commands: tables for people, JSON and YAML for programs.
#ifndef PLIMSOLL_CLI_TERMINAL_OUTPUT_H_
#define PLIMSOLL_CLI_TERMINAL_OUTPUT_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::cli {

enum class OutputFormat { kTable, kWide, kJson, kYaml };

// Writes all of it to standard output. A closed pipe (`plimsoll ps | head -1`) is no error.
void Print(absl::string_view text);
// The first error of Print in this process (a full disk, say), other than a closed pipe.
absl::Status PrintStatus();
// Whether standard output is a terminal that may have colours (NO_COLOR is empty or not set).
bool UseColour();
// Writes to standard error.
void PrintNote(absl::string_view text);

// A message as indented JSON, in the style of every `-o json`: keys in camelCase, times as RFC
// 3339, `info` as JSON (message_json.h).
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);
// The same content as YAML.
absl::StatusOr<std::string> JsonToYaml(absl::string_view json);

// Prints JSON text as it is, or as YAML. `format` must be one of these two.
absl::Status PrintJson(std::string json, OutputFormat format);
// Prints `message` as JSON or YAML. `format` must be one of these two.
absl::Status PrintMessage(const google::protobuf::Message& message, OutputFormat format);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_TERMINAL_OUTPUT_H_
