// SPDX-License-Identifier: Apache-2.0

/// Administration of replicas and disks: here each partition is always where it must be.
extension Node {
  /// The reported name of the log directory, independent of the folder on this machine.
  private static let folder = "/records"

  /// The sizes of all partitions, or of the requested ones.
  func describeFolders(_ request: Value) -> Value {
    var found: [Value] = []
    func add(_ topic: Topic, _ partitions: [Int32]) {
      let sizes: [Value] = partitions.map { index in
        ["Index": .number(index), "Size": .number(topic.logs[Int(index)].size)]
      }
      found.append(["Name": .text(topic.name), "Partitions": .list(sizes)])
    }
    if request["Topics"].isNull {
      for topic in topics.values.sorted(by: { $0.name < $1.name }) {
        add(topic, topic.logs.indices.map { Int32($0) })
      }
    }
    for asked in request["Topics"].list {
      guard let topic = topics[asked["Name"].text] else { continue }
      add(topic, asked["Partitions"].list.map(\.int32).filter { topic.has($0) })
    }
    return ["Results": [["Folder": .text(Self.folder), "Topics": .list(found)]]]
  }

  /// The leader of each partition is its only replica.
  func electLeaders(_ request: Value) -> Value {
    let results = request["Topics"].map { asked in
      let topic = topics[asked["Name"].text]
      let partitions = asked["Partitions"].map { index in
        let isKnown = topic?.has(index.int32) == true
        let error: ErrorCode = isKnown ? .electionNotNeeded : .unknownTopicOrPartition
        return ["Index": index, "Error": .error(error)]
      }
      return ["Name": asked["Name"], "Partitions": partitions]
    }
    return ["Results": results]
  }

  /// A partition can be reassigned only to the node that already has it.
  func reassign(_ request: Value) -> Value {
    request.eachPartition { name, index, asked in
      var error = ErrorCode.unknownTopicOrPartition
      if let topic = topics[name], topic.has(index) {
        let leader: Value = .number(topic.leaders[Int(index)])
        let isThere = asked["Replicas"].list == [leader]
        error = isThere ? .none : .invalidReplicaAssignment
        if asked["Replicas"].isNull { error = .noReassignment }
      }
      return ["Index": .number(index), "Error": .error(error)]
    }
  }
}
