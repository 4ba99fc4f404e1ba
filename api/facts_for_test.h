// For tests of the wire contracts: tables of facts, and the same facts of compiled descriptors.
#ifndef PLIMSOLL_API_FACTS_FOR_TEST_H_
#define PLIMSOLL_API_FACTS_FOR_TEST_H_

#include <google/protobuf/descriptor.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace plimsoll::api {

// "kind parent.name" -> "number type flags": one row of a table, or one thing in the descriptors.
// Names are without their package; types of other packages have it.
using Facts = std::map<std::string, std::string>;

struct Row {
  std::string kind, parent, name, number, type, flags, proposal;
};

std::string KeyOf(absl::string_view kind, absl::string_view parent, absl::string_view name);

// A table in testdata/; without the rows of its packages.
std::vector<Row> ReadTable(const std::string& file);
Facts FactsOf(const std::vector<Row>& rows);

Facts FactsOf(const google::protobuf::FileDescriptor& file);

// The part of `expected` that is missing from `actual` or differs there.
std::vector<std::string> Differences(const Facts& expected, const Facts& actual);

}  // namespace plimsoll::api

#endif  // PLIMSOLL_API_FACTS_FOR_TEST_H_
