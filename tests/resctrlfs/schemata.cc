#include "resctrlfs/schemata.h"

#include <bit>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "resctrlfs/control_values.h"
#include "resctrlfs/kernel_text.h"

namespace plimsoll::resctrlfs {
namespace {

uint32_t ValueOf(const Schema& schema, size_t instance, const Group& group) {
  return schema.values[instance][static_cast<size_t>(group.closid)];
}

std::string ShowValue(const State& state, const Schema& schema, uint32_t value) {
  const bool padded = state.layout.traits.padded_values;
  if (!schema.IsCache()) {
    const int width = !padded ? 0 : (state.controls.mbps() ? 10 : 3);
    return absl::StrFormat("%*u", width, value);
  }
  return absl::StrFormat("%0*x", padded ? (schema.cache->mask_bits + 3) / 4 : 0, value);
}

std::string ShowBytes(const Schema& schema, uint32_t value) {
  if (!schema.IsCache()) return absl::StrCat(value);
  const uint32_t bit = schema.cache->size_bytes / static_cast<uint32_t>(schema.cache->mask_bits);
  return absl::StrCat(bit * static_cast<uint32_t>(std::popcount(value)));
}

// Reads a write to one group's schemata and applies it once all of it is valid.
class SchemataWriter {
 public:
  SchemataWriter(State* state, Group* group)
      : state_(*state), group_(*group), modes_(state->Modes()) {}

  Errno Line(absl::string_view line) {
    std::optional<absl::string_view> rest = line;
    const absl::string_view name = absl::StripAsciiWhitespace(NextPiece(&rest, ':'));
    if (!rest) return state_.status.Refuse(EINVAL, "A line without ':'");
    if (rest->empty()) return state_.status.Refuse(EINVAL, "Nothing after \"", name, ":\"");
    const std::vector<Schema>& schemas = state_.controls.schemas();
    const auto schema = absl::c_find_if(schemas, [&](const Schema& s) { return s.name == name; });
    if (schema == schemas.end()) {
      return state_.status.Refuse(EINVAL, "There is no resource \"", name, "\" here");
    }
    if (group_.mode == Mode::kPseudoLocksetup && !schema->IsCache()) {
      return state_.status.Refuse(EINVAL, "Memory bandwidth can't be pseudo-locked");
    }
    return Assignments(static_cast<size_t>(schema - schemas.begin()), rest);
  }

  void Commit() {
    for (const auto& [where, value] : staged_) {
      state_.controls.Set(where.first, where.second, group_.closid, value);
    }
  }

 private:
  // "0=ff;1=f;": an empty end is fine, an empty piece before it is not.
  Errno Assignments(size_t schema, std::optional<absl::string_view> rest) {
    while (rest && !rest->empty()) {
      std::optional<absl::string_view> piece = NextPiece(&rest, ';');
      const std::optional<uint64_t> id = ParseUnsigned(NextPiece(&piece, '='), 10);
      if (!piece || !id) {
        return state_.status.Refuse(EINVAL, "An assignment without '=', or its id is no number");
      }
      const std::vector<int>& ids = state_.controls.schemas()[schema].ids;
      const auto instance =
          absl::c_find_if(ids, [&](int known) { return static_cast<uint64_t>(known) == *id; });
      if (instance == ids.end()) return EINVAL;  // the kernel has no text for it
      const Errno error = Assign(schema, static_cast<size_t>(instance - ids.begin()),
                                 absl::StripAsciiWhitespace(*piece));
      if (error != 0) return error;
    }
    return 0;
  }

  Errno Assign(size_t index, size_t instance, absl::string_view text) {
    const Schema& schema = state_.controls.schemas()[index];
    if (staged_.contains({index, instance})) {
      return state_.status.Refuse(EINVAL, "Id ", schema.ids[instance], " is named twice");
    }
    const absl::StatusOr<uint32_t> value =
        schema.IsCache() ? ParseMask(*schema.cache, text)
                         : ParseBandwidth(*schema.bandwidth, state_.controls.mbps(), text);
    if (!value.ok()) return state_.status.Refuse(EINVAL, value.status().message());
    if (!schema.IsCache() && state_.controls.mbps()) {
      state_.controls.Set(index, instance, group_.closid, *value);
      return 0;
    }
    if (schema.IsCache()) {
      if (const Errno error = CheckOverlap(index, instance, *value); error != 0) return error;
    }
    staged_[{index, instance}] = *value;
    return 0;
  }

  Errno CheckOverlap(size_t schema, size_t instance, uint32_t mask) {
    if (state_.controls.Overlaps(modes_, schema, instance, mask, group_.closid, true)) {
      return state_.status.Refuse(EINVAL, "The mask has bits of an exclusive group");
    }
    if (group_.mode != Mode::kShareable &&
        state_.controls.Overlaps(modes_, schema, instance, mask, group_.closid, false)) {
      return state_.status.Refuse(EINVAL, "The mask has bits that others use");
    }
    return 0;
  }

  State& state_;
  Group& group_;
  const ClosidModes modes_;
  std::map<std::pair<size_t, size_t>, uint32_t> staged_;  // (schema, instance) -> value
};

template <typename ShowOne>
std::string ShowLines(const State& state, const ShowOne& show_one) {
  std::string text;
  for (const Schema& schema : state.controls.schemas()) {
    absl::StrAppendFormat(&text, "%*s:", state.controls.name_width(), schema.name);
    for (size_t i = 0; i < schema.ids.size(); ++i) {
      absl::StrAppend(&text, i == 0 ? "" : ";", schema.ids[i], "=", show_one(schema, i));
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::string ShowSchemata(const State& state, const Group& group) {
  if (group.mode == Mode::kPseudoLocksetup) {
    std::string text;
    for (const Schema& schema : state.controls.schemas()) {
      absl::StrAppend(&text, schema.name, ":uninitialized\n");
    }
    return text;
  }
  return ShowLines(state, [&](const Schema& schema, size_t i) {
    return ShowValue(state, schema, ValueOf(schema, i, group));
  });
}

std::string ShowSize(const State& state, const Group& group) {
  return ShowLines(state, [&](const Schema& schema, size_t i) {
    return group.mode == Mode::kPseudoLocksetup ? "0"
                                                : ShowBytes(schema, ValueOf(schema, i, group));
  });
}

Errno WriteSchemata(State* state, Group* group, absl::string_view text) {
  if (!absl::ConsumeSuffix(&text, "\n")) return EINVAL;
  state->status.Clear();
  SchemataWriter writer(state, group);
  for (std::optional<absl::string_view> rest = text; rest;) {
    const absl::string_view line = NextPiece(&rest, '\n');
    if (const Errno error = writer.Line(line); error != 0) return error;
  }
  writer.Commit();
  if (group->mode == Mode::kPseudoLocksetup) {
    // Acts like a machine without memory to lock: the group stays as it is.
    return state->status.Refuse(ENOMEM, "There is no memory to pseudo-lock");
  }
  return 0;
}

}  // namespace plimsoll::resctrlfs
