// Answers of plugins as text, and a container that they change.
#ifndef PLIMSOLL_NRI_ADJUST_CREATION_FOR_TEST_H_
#define PLIMSOLL_NRI_ADJUST_CREATION_FOR_TEST_H_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "nri/adjust/creation.h"

namespace plimsoll::nri {

// A message of the text format; a mistake in it is a failure of the test.
template <typename Message>
Message FromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

inline api::CreateContainerResponse Answer(const std::string& adjust) {
  return FromText<api::CreateContainerResponse>("adjust { " + adjust + " }");
}

// A creation of container "c1".
inline Creation CreationOf(const std::string& container = "") {
  return Creation(FromText<api::PodSandbox>("id: \"p1\""),
                  FromText<api::Container>("id: \"c1\" " + container));
}

// The spec after the answer of one plugin, 10-a; the error of Take or Adjusted.
inline absl::StatusOr<runtime::ContainerSpec> SpecAfter(const std::string& adjust,
                                                        const runtime::ContainerSpec& asked = {}) {
  Creation creation = CreationOf();
  const absl::Status taken = creation.Take("10-a", Answer(adjust));
  if (!taken.ok()) return taken;
  return creation.Adjusted(asked);
}

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_ADJUST_CREATION_FOR_TEST_H_
