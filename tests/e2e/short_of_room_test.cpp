// What a machine may refuse: room on disk, memory, shared memory of a GPU, a port. A study says
// what is missing and what to do, leaves no process, and keeps what was recorded until then
// readable and marked incomplete.
#include "tests/e2e/run.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::e2e {
namespace {

std::vector<std::string> study(const std::string& out) {
  return micro_study(
      "boundary", {"--lengths", "255,256", "--tokens", "4", "--save-delay-ms", "50", "--out", out});
}

// The study under `ulimit OPTION AMOUNT`.
Outcome study_under(const std::string& option, int amount, const std::string& out) {
  std::string command = "ulimit " + option + " " + std::to_string(amount) + " && exec";
  for (const std::string& word : study(out))
    command += " '" + word + "'";
  return run({"sh", "-c", command});
}

void expect_nobody_left(const std::string& dir) {
  for (int tries = 0; tries < 100 && !processes_of(dir).empty(); ++tries)
    usleep(50000);
  EXPECT_TRUE(processes_of(dir).empty()) << "processes left behind";
}

bool write_line(const char* path, const std::string& line) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  const bool written = fd >= 0 && write(fd, line.data(), line.size()) == ssize_t(line.size());
  if (fd >= 0) close(fd);
  return written;
}

// A file system of `megabytes` over `dir`, seen by this process and its children alone. False where
// the machine does not let a user have one.
bool mount_small_disk(const std::string& dir, int megabytes) {
  const uid_t user = getuid();
  const gid_t group = getgid();
  if (user == 0) {
    if (unshare(CLONE_NEWNS) != 0) return false;
  } else {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    write_line("/proc/self/setgroups", "deny");
    if (!write_line("/proc/self/uid_map", "0 " + std::to_string(user) + " 1") ||
        !write_line("/proc/self/gid_map", "0 " + std::to_string(group) + " 1"))
      return false;
  }
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  return mount("tmpfs", dir.c_str(), "tmpfs", 0,
               ("size=" + std::to_string(megabytes) + "m").c_str()) == 0;
}

constexpr int no_such_mount = 77;

// The body runs in a child of its own: a mount namespace cannot be left again.
int on_small_disk(const std::string& dir, int megabytes, void (*body)(const std::string&)) {
  const pid_t child = fork();
  if (child == 0) {
    if (!mount_small_disk(dir, megabytes)) _exit(no_such_mount);
    body(dir);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(ShortOfRoom, AFullDiskEndsTheStudyAndKeepsWhatWasRecorded) {
  TempDir dir("disk");
  const int outcome = on_small_disk(dir.path(), 40, [](const std::string& disk) {
    const Outcome full = run(study(disk + "/out"));
    EXPECT_EQ(full.exit_code, 2) << full.err;
    EXPECT_NE(full.err.find("disk is full"), std::string::npos) << full.err;
    EXPECT_NE(full.err.find("free room on the disk of"), std::string::npos) << full.err;
    expect_nobody_left(disk);
    // One of the two recordings was being written. Reading it needs no room on that disk.
    const bool both = run({"test", "-d", disk + "/out/candidate/data"}).exit_code == 0;
    const std::string last = disk + (both ? "/out/candidate" : "/out/control");
    const Outcome seen = run({program("hitproof"), "inspect", last});
    EXPECT_EQ(seen.exit_code, 0) << seen.out << seen.err;
    EXPECT_NE(seen.out.find("never closed"), std::string::npos) << seen.out;
    int code = -1;
    EXPECT_EQ(audit_json(last, &code)["verdict"], "inconclusive");
    EXPECT_EQ(code, 3);
  });
  if (outcome == no_such_mount)
    GTEST_SKIP() << "this machine gives a user no mount namespace: a disk cannot be filled safely";
  EXPECT_EQ(outcome, 0);
}

TEST(ShortOfRoom, ADiskFullFromTheStartIsRefused) {
  TempDir dir("disk");
  const int outcome = on_small_disk(dir.path(), 1, [](const std::string& disk) {
    std::ofstream(disk + "/ballast") << std::string(2 << 20, 'x');
    const Outcome full = run(study(disk + "/out"));
    EXPECT_EQ(full.exit_code, 2) << full.out << full.err;
    EXPECT_NE(full.err.find("free room on the disk of"), std::string::npos) << full.err;
    expect_nobody_left(disk);
  });
  if (outcome == no_such_mount)
    GTEST_SKIP() << "this machine gives a user no mount namespace: a disk cannot be filled safely";
  EXPECT_EQ(outcome, 0);
}

// Address space stands for memory of every kind here, the shared memory of ranks and device too: it
// runs out at start-up, in the middle of it, or while the model is made.
TEST(ShortOfRoom, TooLittleMemoryIsNamed) {
  TempDir dir("memory");
  int refused = 0;
  for (const int mib : {400, 600, 800}) {
    SCOPED_TRACE(mib);
    const std::string out = dir.path(std::to_string(mib));
    const Outcome short_of_it = study_under("-v", mib * 1024, out);
    expect_nobody_left(out);
    if (short_of_it.exit_code == 0) continue; // a machine on which it is enough
    ++refused;
    EXPECT_TRUE(short_of_it.exit_code == 2 || short_of_it.exit_code == 3) << short_of_it.err;
    EXPECT_NE(short_of_it.err.find("memory"), std::string::npos) << short_of_it.err;
    EXPECT_NE(short_of_it.err.find("ulimit -v"), std::string::npos) << short_of_it.err;
  }
  EXPECT_GT(refused, 0) << "no limit was low enough to be met: the test proved nothing";
}

// The simulated device's memory lies in files, so that its own words would be of memory.
TEST(ShortOfRoom, TooFewDescriptorsAreNamed) {
  TempDir dir("descriptors");
  for (const int files : {8, 20}) {
    SCOPED_TRACE(files);
    const std::string out = dir.path(std::to_string(files));
    const Outcome few = study_under("-n", files, out);
    expect_nobody_left(out);
    EXPECT_TRUE(few.exit_code == 2 || few.exit_code == 3) << few.exit_code << few.err;
    EXPECT_NE(few.err.find("ulimit -n"), std::string::npos) << few.err;
  }
}

TEST(ShortOfRoom, AFileSizeLimitIsNamed) {
  TempDir dir("sizes");
  for (const int kib : {64, 4096}) {
    SCOPED_TRACE(kib);
    const std::string out = dir.path(std::to_string(kib));
    // Shells count in halves of a kilobyte or in whole ones; both are too few.
    const Outcome small = study_under("-f", kib, out);
    expect_nobody_left(out);
    EXPECT_TRUE(small.exit_code == 2 || small.exit_code == 3) << small.exit_code << small.err;
    EXPECT_NE(small.err.find("ulimit -f"), std::string::npos) << small.err;
  }
}

// As in containers that share no memory. The control arm needs no cache server; the candidate's
// ranks cannot meet theirs, and what was recorded until then is no verdict.
TEST(ShortOfRoom, ProcessesThatMayNotShareMemoryAreNamed) {
  TempDir dir("ipc");
  const Outcome apart = run(study(dir.path("out")), {{"HITPROOF_SIM_BREAK", "no_ipc"}});
  EXPECT_EQ(apart.exit_code, 3) << apart.out << apart.err;
  EXPECT_NE(apart.err.find("cudaIpcOpen"), std::string::npos) << apart.err;
  EXPECT_NE(apart.err.find("--ipc=host"), std::string::npos) << apart.err;
  expect_nobody_left(dir.path("out"));
}

TEST(ShortOfRoom, APortInUseIsNamed) {
  const int holder = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(bind(holder, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(holder, 1), 0);
  ASSERT_EQ(getsockname(holder, reinterpret_cast<sockaddr*>(&address), &length), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  const Outcome refused = run({program("hitproof"), "serve", "--preset", "micro", "--port", port});
  close(holder);
  EXPECT_EQ(refused.exit_code, 2) << refused.out << refused.err;
  EXPECT_NE(refused.err.find(port), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("in use"), std::string::npos) << refused.err;
}

TEST(BadInput, OfAStudyIsRefusedBeforeAnythingStarts) {
  TempDir dir("input");
  const struct {
    std::vector<std::string> options;
    const char* named;
  } cases[] = {
      {{"--preset", "huge"}, "huge"},
      {{"--preset", "micro", "--lengths", "255,9999999"}, "9999999"},
      {{"--preset", "micro", "--lengths", "0"}, "0"},
      {{"--preset", "micro", "--lengths", "25x"}, "25x"},
      {{"--preset", "micro", "--tokens", "0"}, "tokens"},
      {{"--preset", "micro", "--lookup", "loose"}, "loose"},
      {{"--preset", "micro", "--break", "everything"}, "everything"},
      {{"--preset", "micro", "--arms", "candidate", "--reference", dir.path("nothing")}, "nothing"},
      {{"--preset", "micro", "--device", "abacus"}, "abacus"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.named);
    std::vector<std::string> command = {program("hitproof"), "study", "boundary",
                                        "--quiet",           "--out", dir.path("out")};
    command.insert(command.end(), c.options.begin(), c.options.end());
    const Outcome refused = run(command);
    EXPECT_EQ(refused.exit_code, 2) << refused.out << refused.err;
    EXPECT_NE(refused.err.find(c.named), std::string::npos) << refused.err;
    EXPECT_NE(run({"test", "-e", dir.path("out/candidate")}).exit_code, 0) << "something was made";
  }
}

TEST(BadInput, AnArchiveFolderInUseIsLeftAsItIs) {
  TempDir dir("taken");
  std::filesystem::create_directory(dir.path("control"));
  std::ofstream(dir.path("control/mine")) << "precious";
  const Outcome refused = run(study(dir.path()));
  EXPECT_EQ(refused.exit_code, 2) << refused.out << refused.err;
  EXPECT_NE(refused.err.find(dir.path("control")), std::string::npos) << refused.err;
  std::string kept;
  std::ifstream(dir.path("control/mine")) >> kept;
  EXPECT_EQ(kept, "precious");
  EXPECT_FALSE(std::filesystem::exists(dir.path("candidate"))) << "the other arm was begun";
}

} // namespace
} // namespace hitproof::e2e
