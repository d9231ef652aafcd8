// SPDX-License-Identifier: Apache-2.0
import Planning
import Testing

@Suite struct KafkaRequestsTests {
  private let one = KafkaCluster(brokers: 1, fetchTime: 0.5, produceTime: 1)
  private let three = KafkaCluster(brokers: 3, fetchTime: 1, produceTime: 2)

  @Test func `rare records go out one by one, frequent ones once a partition and linger time`() {
    func produces(_ rate: Double) -> Double {
      KafkaRequests.produces(rate: rate, partitions: 12, linger: 5, one)
    }
    #expect(produces(0) == 0)
    #expect(abs(produces(20) - 19.83) < 0.01)
    #expect(abs(produces(1e9) - 2_400) < 0.1)
  }

  @Test func `a broker takes no more than five requests in the time of one`() {
    let most = KafkaRequests.produces(rate: 1e6, partitions: 64, linger: 1, one)
    #expect(most == 5_000)
    #expect(KafkaRequests.produces(rate: 1e6, partitions: 64, linger: 1, three) == 7_500)
    // Two of the three lead nothing.
    #expect(KafkaRequests.produces(rate: 1e6, partitions: 1, linger: 0.1, three) == 2_500)
  }

  @Test
  func `an idle consumer asks each broker once per wait, a busy one per batch and round trip`() {
    func fetches(_ arrivals: Double, _ partitions: Int = 12) -> Double {
      KafkaRequests.fetches(arrivals: arrivals, partitions: partitions, wait: 100, three)
    }
    #expect(abs(fetches(0) - 3_000 / 101) < 1e-9)
    #expect(abs(fetches(0, 1) - 1_000 / 101) < 1e-9)
    // A batch comes to each broker every 2 ms, and the answer takes one.
    #expect(abs(fetches(1_500) - 1_000) < 1e-6)
    #expect(fetches(1e9) < 3_000.1)
  }

  @Test func `copies share what is written, and each asks for itself`() {
    func senders(_ count: Int) -> KafkaProcess {
      KafkaLoad.sender("a test", rate: 10_000, partitions: 12, senders: count).processes[1]
    }
    #expect(senders(2).groupFetches(one) > senders(1).groupFetches(one))
    #expect(senders(2).groupFetches(one) < 2 * senders(1).groupFetches(one))
    // Two tables of one partition.
    let idle = senders(2).fetches(one) - senders(2).groupFetches(one)
    #expect(abs(idle - 4 * 1_000 / 100.5) < 1e-9)
    #expect(senders(2).bytesIn == 4.62e6)
    #expect(abs(senders(1).bytesOut - 3.3e6) < 1)
  }

  @Test func `requests without a key go to one partition at a time`() {
    func load(_ isKeyed: Bool) -> Double {
      KafkaLoad.pipeline("a test", rate: 50_000, isKeyed: isKeyed).processes[0].produces(one)
    }
    #expect(load(false) < 201)
    #expect(load(true) > 2_000)
  }
}
