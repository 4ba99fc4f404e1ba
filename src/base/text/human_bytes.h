// Byte counts for people to read.
#ifndef PLIMSOLL_BASE_TEXT_HUMAN_BYTES_H_
#define PLIMSOLL_BASE_TEXT_HUMAN_BYTES_H_

#include <cstdint>
#include <string>

namespace plimsoll {

// "512 B", "1.5 MiB": three significant digits at most, binary units.
std::string HumanBytes(uint64_t bytes);

// For a sentence in which the exact number counts: "64 MiB (67108864 bytes)", "512 bytes".
std::string BytesInWords(uint64_t bytes);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_TEXT_HUMAN_BYTES_H_
