#include "qos/pod_qos.h"

#include <gtest/gtest.h>

namespace plimsoll::qos {
namespace {

TEST(DerivePodQos, KubeletsGroupsTell) {
  const std::pair<const char*, const char*> expected[] = {
      {"/kubepods/besteffort/pod1", "BestEffort"},
      {"/kubepods/burstable/pod1", "Burstable"},
      {"/kubepods/pod1", "Guaranteed"},
      {"kubepods-besteffort-pod1.slice", "BestEffort"},
      {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice", "Burstable"},
      {"kubepods-pod1.slice", "Guaranteed"},
  };
  for (const auto& [parent, qos] : expected) EXPECT_EQ(DerivePodQos(parent, {}), qos) << parent;
}

TEST(DerivePodQos, ElsewhereTheLimitsDo) {
  linux::CgroupSettings resources;
  EXPECT_EQ(DerivePodQos("", resources), "BestEffort");
  resources.cpu_shares = 2;
  EXPECT_EQ(DerivePodQos("/plimsoll", resources), "BestEffort");
  resources.cpu_shares = 512;
  EXPECT_EQ(DerivePodQos("", resources), "Burstable");
  resources.memory_limit_bytes = 1 << 20;
  EXPECT_EQ(DerivePodQos("", resources), "Burstable");
  resources.cpu_quota_us = 50000;
  EXPECT_EQ(DerivePodQos("", resources), "Guaranteed");
  resources.cpu_shares = 256;
  EXPECT_EQ(DerivePodQos("", resources), "Burstable");
  resources.cpu_period_us = 0;
  EXPECT_EQ(DerivePodQos("", resources), "Burstable");
}

TEST(PodQosType, IsInformationOnly) {
  PodQosType type;
  EXPECT_TRUE(type.immutable());
  EXPECT_EQ(type.level(), Level::kPod);
  EXPECT_EQ(type.classes().size(), 3u);
}

}  // namespace
}  // namespace plimsoll::qos
