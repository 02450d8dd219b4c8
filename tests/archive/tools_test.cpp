// Other people's tools read an archive: sha256sum, and bagit, securesystemslib and rocrate where
// Python has them.
#include "tests/audit/fixture.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>

namespace hitproof::schema {
namespace {

using audit::testing::ScratchDir;

int run(const std::string& command) {
  const int status = std::system((command + " >&2").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string python() {
  const char* named = std::getenv("HITPROOF_PYTHON");
  return named != nullptr ? named : "python3";
}

bool python_has(const std::string& module) {
  return run(python() + " -c 'import " + module + "' 2>/dev/null") == 0;
}

class Tools : public testing::Test {
 protected:
  void SetUp() override { audit::testing::copy_good_study(dir_.path()); }
  int inside(const std::string& command) { return run("cd '" + dir_.path() + "' && " + command); }
  void damage() { std::ofstream(dir_.path() + "/data/plan.toml", std::ios::app) << "#"; }
  ScratchDir dir_, aside_;
};

TEST_F(Tools, Sha256sumReadsBothManifests) {
  EXPECT_EQ(inside("sha256sum --strict -c manifest-sha256.txt"), 0);
  EXPECT_EQ(inside("sha256sum --strict -c tagmanifest-sha256.txt"), 0);
  damage();
  EXPECT_NE(inside("sha256sum --strict -c manifest-sha256.txt"), 0);
}

TEST_F(Tools, BagitPyValidates) {
  if (!python_has("bagit")) GTEST_SKIP() << "no Python package bagit; set HITPROOF_PYTHON";
  const std::string validate = python() + " -m bagit --validate .";
  EXPECT_EQ(inside(validate), 0);
  damage();
  EXPECT_NE(inside(validate), 0);
}

// The envelope as the library of its specification's authors sees it, with the key as another tool
// reads it.
TEST_F(Tools, SecuresystemslibAcceptsTheEnvelope) {
  if (!python_has("securesystemslib.dsse, cryptography"))
    GTEST_SKIP() << "no Python packages securesystemslib and cryptography; set HITPROOF_PYTHON";
  const std::string program = HITPROOF_PROGRAM, key = aside_.path() + "/key";
  ASSERT_EQ(inside(program + " keygen --out " + key + " && " + program + " sign . --key " + key),
            0);
  std::ofstream(aside_.path() + "/check.py") << R"py(
import hashlib, json, sys
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey
public = load_pem_public_key(open(sys.argv[1], "rb").read())
spki = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
key = SSlibKey.from_crypto(public, keyid=hashlib.sha256(spki).hexdigest())
envelope = Envelope.from_dict(json.load(open("attestation.dsse.json")))
if len(sys.argv) > 2:
    envelope.payload = envelope.payload.replace(b"PASSED", b"FAILED")
assert list(envelope.verify([key], 1)) == [key.keyid]
statement = json.loads(envelope.payload)
assert statement["_type"] == "https://in-toto.io/Statement/v1"
for subject in statement["subject"]:
    assert hashlib.sha256(open(subject["name"], "rb").read()).hexdigest() == subject["digest"]["sha256"]
)py";
  const std::string check = python() + " " + aside_.path() + "/check.py " + key + ".pub";
  EXPECT_EQ(inside(check), 0);
  EXPECT_NE(inside(check + " changed 2>/dev/null"), 0);
  EXPECT_EQ(inside(program + " verify . --key " + key + ".pub"), 0);
  EXPECT_EQ(inside("sha256sum --strict -c manifest-sha256.txt tagmanifest-sha256.txt"), 0);
  if (python_has("bagit")) {
    EXPECT_EQ(inside(python() + " -m bagit --validate ."), 0);
  }
}

TEST_F(Tools, RocrateLoadsTheMetadata) {
  if (!python_has("rocrate")) GTEST_SKIP() << "no Python package rocrate; set HITPROOF_PYTHON";
  std::ofstream(aside_.path() + "/crate.py") << R"py(
import os
from rocrate.rocrate import ROCrate
crate = ROCrate(".")
files = {e.id: e for e in crate.data_entities}
there = {os.path.relpath(os.path.join(d, f)) for d, _, names in os.walk("data") for f in names}
assert set(files) == there, (files, there)
for name, entity in files.items():
    assert int(entity["contentSize"]) == os.path.getsize(name)
assert crate.root_dataset["datePublished"]
)py";
  EXPECT_EQ(inside(python() + " " + aside_.path() + "/crate.py"), 0);
}

} // namespace
} // namespace hitproof::schema
