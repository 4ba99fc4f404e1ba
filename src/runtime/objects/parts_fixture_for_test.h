// A fixture for tests of one part of the engine: the arguments that all parts take, as stand-ins.
// Needs no root.
#ifndef PLIMSOLL_RUNTIME_OBJECTS_PARTS_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_RUNTIME_OBJECTS_PARTS_FIXTURE_FOR_TEST_H_

#include <memory>
#include <string>
#include <vector>

#include "base/dir_for_test.h"
#include "gtest/gtest.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/fakes_for_test.h"
#include "runtime/objects/objects.h"

namespace plimsoll::runtime {

class PartsTest : public ::testing::Test {
 protected:
  PartsTest()
      : run_(*FsRoot::OpenOrCreate(dir_.path() + "/run")),
        store_(*Store::Open(*FsRoot::OpenOrCreate(dir_.path() + "/state"))),
        runtime_(*FsRoot::Open("/")),
        options_{.host = dir_.root(), .state = dir_.root(), .run = run_} {
    options_.store = &store_;
    options_.images = &images_;
    options_.cgroups = &cgroups_;
    options_.runtime = &runtime_;
    options_.events = &events_;
  }

  static SandboxRecord SandboxOf(const std::string& id) {
    SandboxRecord record;
    record.id = id;
    record.spec.name = id;
    record.state = SandboxState::kReady;
    return record;
  }
  std::shared_ptr<Sandbox> Add(const SandboxRecord& record) {
    auto sandbox = std::make_shared<Sandbox>(record);
    objects_.AddSandbox(sandbox);
    return sandbox;
  }
  // Running, unless `record` is changed before it is added.
  static ContainerRecord ContainerOf(const std::string& id, const std::string& sandbox_id) {
    ContainerRecord record;
    record.id = id;
    record.sandbox_id = sandbox_id;
    record.spec.name = id;
    record.cgroup_path = "/plimsoll/" + sandbox_id + "/" + id;
    record.state = ContainerState::kRunning;
    return record;
  }
  std::shared_ptr<Container> Add(const ContainerRecord& record) {
    auto container = std::make_shared<Container>(record);
    objects_.AddContainer(container);
    return container;
  }
  std::vector<std::string> Messages(EventType type) const {
    std::vector<std::string> messages;
    for (const Event& event : events_.Since(0)) {
      if (event.type == type) messages.push_back(event.message);
    }
    return messages;
  }

  TestDir dir_;  // the host's root, too
  FsRoot run_;
  FaultyStore store_;
  FakeRuntime runtime_;
  FakeImages images_;
  FakeCgroups cgroups_;
  EventLog events_;
  EngineOptions options_;
  Objects objects_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OBJECTS_PARTS_FIXTURE_FOR_TEST_H_
