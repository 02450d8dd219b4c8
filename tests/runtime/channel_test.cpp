#include "engine/runtime/channel.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace hitproof::engine {
namespace {

struct Pair {
  Pair() {
    auto [a, b] = socket_pair();
    left = Channel(std::move(a), "left peer");
    right = Channel(std::move(b), "right peer");
  }
  Channel left, right;
};

void send_raw(const Channel& c, const void* data, size_t bytes) {
  ASSERT_EQ(::send(c.fd(), data, bytes, MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
}

TEST(Channel, MessagesArriveInOrderAndWhole) {
  Pair pair;
  Step large;
  large.seqs.resize(1);
  large.seqs[0].tokens.assign(300000, 4095); // far more than a socket buffer
  std::thread sender([&] {
    for (uint64_t i = 0; i < 3; ++i) {
      large.step = i;
      pair.left.send(large);
    }
    pair.left.send(Ack{4});
  });
  for (uint64_t i = 0; i < 3; ++i) {
    const auto step = pair.right.expect<Step>();
    EXPECT_EQ(step.step, i);
    EXPECT_EQ(step.seqs[0].tokens.size(), 300000u);
  }
  EXPECT_EQ(pair.right.expect<Ack>().transfer, 4u);
  sender.join();
}

TEST(Channel, NothingComesWithinTheTimeout) {
  Pair pair;
  EXPECT_FALSE(pair.right.receive(10).has_value());
  pair.left.send(Done{});
  EXPECT_TRUE(pair.right.receive(1000).has_value());
}

TEST(Channel, AClosedPeerHasGone) {
  Pair pair;
  pair.left.close();
  EXPECT_THROW((void)pair.right.receive(), PeerGone);
  EXPECT_THROW(pair.right.send(Done{}), PeerGone);
}

TEST(Channel, AFrameCutShortIsAPeerThatHasGone) {
  Pair pair;
  const uint8_t half[] = {100, 0, 0, 0, 0xa1};
  send_raw(pair.left, half, sizeof half);
  pair.left.close();
  EXPECT_THROW((void)pair.right.receive(), PeerGone);
}

TEST(Channel, AnAbsurdLengthIsRefusedBeforeMemoryIsTaken) {
  Pair pair;
  const uint8_t head[] = {0xff, 0xff, 0xff, 0xff};
  send_raw(pair.left, head, sizeof head);
  EXPECT_THROW((void)pair.right.receive(), ProtocolError);
}

TEST(Channel, RubbishIsRefused) {
  Pair pair;
  const uint8_t frame[] = {3, 0, 0, 0, 0xff, 0x00, 0x13};
  send_raw(pair.left, frame, sizeof frame);
  EXPECT_THROW((void)pair.right.receive(), ProtocolError);
  const uint8_t empty[] = {0, 0, 0, 0};
  send_raw(pair.left, empty, sizeof empty);
  EXPECT_THROW((void)pair.right.receive(), ProtocolError);
}

TEST(Channel, AnotherMessageThanExpectedIsNamed) {
  Pair pair;
  pair.left.send(Ack{1});
  try {
    (void)pair.right.expect<Done>();
    FAIL();
  } catch (const ProtocolError& e) {
    EXPECT_NE(std::string(e.what()).find("right peer sent ack"), std::string::npos);
  }
  pair.left.send(Failure{"no room"});
  try {
    (void)pair.right.expect<Done>();
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "no room");
  }
}

TEST(Addresses, AbstractAddressIsFoundAndLeavesNothing) {
  const Listener listener = listen_at("");
  ASSERT_EQ(listener.address.at(0), '@');
  Channel client(connect_to(listener.address), "server");
  Channel server(accept_from(listener.fd.get()), "client");
  client.send(Hello{3});
  EXPECT_EQ(server.expect<Hello>().instance, 3u);
}

TEST(Addresses, AStaleSocketFileIsReplacedAndALiveOneIsNot) {
  const std::string path = testing::TempDir() + "hitproof-" + std::to_string(::getpid()) + ".sock";
  { const Listener first = listen_at(path); } // the file stays, nobody listens
  {
    const Listener second = listen_at(path);
    EXPECT_THROW((void)listen_at(path), std::exception);
    EXPECT_TRUE(connect_to(path, 100));
  }
  ::unlink(path.c_str());
}

TEST(Addresses, ErrorsNameTheAddress) {
  try {
    (void)connect_to("/nowhere/hitproof.sock", 20);
    FAIL();
  } catch (const std::exception& e) {
    EXPECT_NE(std::string(e.what()).find("/nowhere/hitproof.sock"), std::string::npos);
  }
  EXPECT_THROW((void)listen_at(std::string(200, 'x')), std::runtime_error);
}

} // namespace
} // namespace hitproof::engine
