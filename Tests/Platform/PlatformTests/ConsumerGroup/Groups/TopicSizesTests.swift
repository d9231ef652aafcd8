// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Testing

@Suite struct TopicSizesTests {
  @Test func `topic sizes tell each change once, also of two topics at a time`() {
    var sizes = TopicSizes(["a": 4, "b": 12])
    #expect(sizes.observe(["a": 4, "b": 12, "c": 7]) == [])
    #expect(
      sizes.observe(["a": 8, "b": 1])
        == [TopicChange("a", from: 4, to: 8), TopicChange("b", from: 12, to: 1)])
    #expect(sizes.observe(["a": 8, "b": 1]) == [])
    #expect(sizes.observe(["a": 8, "b": 12]) == [TopicChange("b", from: 1, to: 12)])
  }

  @Test func `nothing is known of a topic that may not be seen, or that nobody answers for`() {
    var sizes = TopicSizes(["a": 4, "b": 1])
    for _ in 0..<5 { #expect(sizes.observe(["b": 1], unknown: ["a"]) == []) }
    #expect(sizes.observe(["a": 4, "b": 1]) == [])
    for _ in 0..<5 { #expect(sizes.observe(["b": 1], unknown: ["a"]) == []) }
    #expect(sizes.observe(["a": 6, "b": 1]) == [TopicChange("a", from: 4, to: 6)])
  }

  @Test func `count a topic as gone when it is missing from two looks on end`() {
    var sizes = TopicSizes(["a": 4])
    #expect(sizes.observe([:]) == [])
    #expect(sizes.observe(["a": 4]) == [])
    #expect(sizes.observe([:]) == [])
    #expect(sizes.observe([:]) == [TopicChange("a", from: 4, to: 0)])
    for _ in 0..<5 { #expect(sizes.observe([:]) == []) }
    #expect(sizes.observe(["a": 4]) == [TopicChange("a", from: 0, to: 4)])
  }
}
