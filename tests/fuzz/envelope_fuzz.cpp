// An envelope of any bytes: only its one spelling is accepted, and no statement is about an archive
// whose digests it does not name.
#include "schema/attestation.h"
#include "tests/fuzz/fuzz.h"

namespace schema = hitproof::schema;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto envelope = schema::parse_envelope(text);
  if (!envelope.ok()) {
    // The statement inside has a parser of its own.
    const schema::Envelope bare{"application/vnd.in-toto+json", std::string(text), "", ""};
    (void)schema::read_statement(bare, {}, {}).ok();
    return 0;
  }
  if (schema::write_envelope(*envelope) != text) std::abort();
  if (schema::read_statement(*envelope, {}, {}).ok()) std::abort();
  return 0;
}
