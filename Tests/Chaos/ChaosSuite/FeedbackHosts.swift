// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import LabCommand
import Records
import ServiceKit
import Waiting

/// Feedback processes as if on their own hosts, each with its own disk, and devices that register again while the
/// gateway still reports them as unregistered since an earlier time.
final class FeedbackHosts {
  private struct Host {
    let name: String
    let database: String
  }

  private let rig: ChaosRig
  private var running: [Host]
  /// The disks of hosts that have left, unchanged since.
  private var stale: [String] = []
  private var started = 1
  private let producer: KafkaProducer
  private let devices: KafkaTopic
  private var unregistered: [DemoGateway.Device]

  init(_ rig: ChaosRig) throws {
    self.rig = rig
    running = [Host(name: "feedback", database: rig.pipeline.database)]
    producer = try KafkaProducer(rig.kafka)
    devices = try producer.topic(named: rig.place.names.devices)
    unregistered = rig.place.generator.unregistered.map {
      DemoGateway.Device(token: $0.token, app: $0.app)
    }
  }

  func close() { producer.close() }

  var count: Int { running.count }

  /// Registers some of the devices that the gateway reports as unregistered, with the current time.
  func register(_ count: Int) throws {
    unregistered.shuffle(using: &rig.random)
    for device in unregistered.prefix(count) {
      let record = DeviceRecord(
        device: DeviceKey(token: device.token, app: device.app, environment: .production),
        event: .registered(at: WallClock.milliseconds()))
      let result = record.key.withUnsafeBytes { key in
        record.value.withUnsafeBytes { producer.produce(devices, key: key, value: $0, tag: 0) }
      }
      if case .refused(let error) = result { throw error }
      rig.auditor.registeredAgain(device)
    }
    unregistered.removeFirst(min(count, unregistered.count))
    guard producer.flush(timeoutMilliseconds: 60_000) else {
      throw ServiceFailure("Kafka did not take the registrations within 60 s")
    }
  }

  /// Adds a host, with an empty disk or with the one that another host left.
  func join(withStaleDisk: Bool = false) throws {
    let old = withStaleDisk ? stale.popLast() : nil
    started += 1
    let database = old ?? "\(rig.place.folder)/tokens-\(started).db"
    rig.countFault("a feedback host joins with \(old == nil ? "an empty" : "a stale") disk")
    try start(Host(name: "feedback-\(started)", database: database))
  }

  private func start(_ host: Host) throws {
    try rig.pipeline.startFeedback(host.name, database: host.database)
    running.append(host)
    try rig.awaitPartitions(of: host.name)
    rig.databases = running.map(\.database)
  }

  /// Removes a host for good; its disk stays as it is.
  func leave() throws {
    let place = Int(rig.random.next() % UInt64(running.count))
    let host = running.remove(at: place)
    rig.countFault("\(host.name) leaves")
    try rig.stopForGood(host.name)
    stale.append(host.database)
    rig.databases = running.map(\.database)
  }

  /// Kills a host; it returns with its disk, before or after the others have taken its partitions.
  func kill() throws { try rig.kill(rig.random.pick(running.map(\.name))) }

  /// Picks a process to stall.
  func pick() -> String { rig.random.pick(running.map(\.name)) }

  /// Every existing disk, and an empty one, must end with the rows of the topic once its host owns all partitions.
  func compare() throws {
    try rig.settle()
    var disks = stale + running.map(\.database)
    stale = []
    // The disk that the audit reads comes last.
    disks.removeAll { $0 == rig.pipeline.database }
    disks += ["\(rig.place.folder)/tokens-empty.db", rig.pipeline.database]
    for disk in disks {
      for host in running where host.database != disk { try rig.stopForGood(host.name) }
      running.removeAll { $0.database != disk }
      rig.databases = [disk]
      if running.isEmpty {
        started += 1
        try start(Host(name: "feedback-\(started)", database: disk))
      }
      try awaitRows(disk)
    }
  }

  private func awaitRows(_ disk: String) throws {
    let tables = TableAudit(rig.kafka, rig.place.names)
    var differences = ["not looked at yet"]
    let isSame = try rig.pump(
      every: 500,
      until: {
        differences = (try? tables.databaseDifferences(disk)) ?? ["cannot be read"]
        return differences.isEmpty
      }, within: 120_000)
    guard !isSame else { return }
    let name = disk.split(separator: "/").last ?? ""
    rig.problem("\(name) is not what the topic says, two minutes after its host got everything")
    for text in differences.prefix(5) { rig.problem("  \(text)") }
  }
}
