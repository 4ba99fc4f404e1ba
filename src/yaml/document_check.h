// The bounds of a YAML document, and of a tree that is to be read as one.
#ifndef PLIMSOLL_YAML_DOCUMENT_CHECK_H_
#define PLIMSOLL_YAML_DOCUMENT_CHECK_H_

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace plimsoll {

// A value takes some hundred bytes as a node, and as much again as the caller's own.
inline constexpr size_t kMaxYamlValues = 100'000;

inline constexpr char kClosesNothing[] = "a closing bracket that closes nothing";

// Throws for a document that begins where the one before it began, for too many documents, keys and
// values, for aliases that grow too large, and for a string that is not text. It sees each event
// before anything is kept of it.
class DocumentCheck : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override { Close(); }

  // The start of the latest document: its "---", where it has one.
  const YAML::Mark& start() const { return start_; }

 private:
  // The size of a node with all below it, aliases followed. A key is no value; its text counts.
  struct Size {
    size_t values = 0;
    size_t bytes = 0;
  };
  struct Collection {
    bool is_mapping = false;
    YAML::anchor_t anchor = 0;
    Size before;       // of all nodes before it
    size_t nodes = 0;  // in a mapping: keys and values in turn
  };

  void Open(const YAML::Mark& mark, YAML::anchor_t anchor, bool is_mapping);
  void Close();
  // Counts a node of the open collection; `mark` is the node's start.
  void Count(const YAML::Mark& mark, Size size);

  std::vector<Collection> open_;
  std::map<YAML::anchor_t, Size> anchored_;  // of the document's closed nodes
  Size whole_;                               // of all documents so far
  size_t aliased_bytes_ = 0;
  int last_ = -1;
  int documents_ = 0;
  YAML::Mark start_;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_YAML_DOCUMENT_CHECK_H_
