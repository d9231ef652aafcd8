// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Kafka
import ServiceKit
import Telemetry

/// Reads a file of device tokens and produces its records. Memory does not grow with the file.
final class TokenImporter {
  private static let reportedProblems = 20

  private let source: LineSource
  private let settings: TokensImportCommand.Settings
  private let output: TokenProducer?
  private let context: ServiceContext
  private var defaults: TokenDefaults
  private let objects = TokenObjects()
  private var progress: ProgressLine?
  private var watch: WriteWatch?
  private var result = TokenImportResult()

  init(
    _ source: LineSource, _ settings: TokensImportCommand.Settings, _ output: TokenProducer?,
    _ context: ServiceContext
  ) {
    self.source = source
    self.settings = settings
    self.output = output
    self.context = context
    defaults = settings.defaults
    defaults.now = WallClock.milliseconds()
    progress = settings.showsProgress ? ProgressLine("tokens import", unit: "tokens") : nil
    watch = output?.watch
    result.isDry = output == nil
  }

  func run() throws(ServiceFailure) -> TokenImportResult {
    let start = MonotonicClock.milliseconds()
    defer { end() }
    var file: TokenFile?
    var lines = 0
    while !context.signals.isStopping, let bytes = try source.next() {
      let line = Array(bytes)
      if file == nil, !line.allSatisfy({ $0 <= 0x20 }) { file = try begin(line, after: lines) }
      if let found = file?.read(line, endsLine: !source.isCut) { try handle(found) }
      lines += 1
      if lines % 64 == 0 { try drain("") }
    }
    result.wasStopped = context.signals.isStopping
    try finish()
    result.milliseconds = MonotonicClock.milliseconds() - start
    if result.problems > Self.reportedProblems {
      StandardError.line("… and \(result.problems - Self.reportedProblems) more like these")
    }
    return result
  }

  /// What Kafka has, for the audit; after an error, too.
  var deed: String {
    "\(result.devices) registrations and removals, \(result.invalid) invalid tokens from \(settings.file)"
      + Audit.doubt(output?.outstanding ?? 0)
  }

  /// Ends the client, after a short wait for answers if the import has failed.
  private func end() {
    guard let output else { return }
    output.flush(timeoutMilliseconds: Audit.lastWait)
    takeProgress(of: output)
    output.close()
  }

  /// Creates a reader that starts at the first non-empty line.
  private func begin(_ line: [UInt8], after empty: Int) throws(ServiceFailure) -> TokenFile {
    guard let format = settings.format ?? TokenFileFormat(firstLine: line) else {
      throw ServiceFailure(
        "\(settings.file) has neither a token nor an object of martlet tokens list --json in each line; convert-tokens"
          + " (docs/tokens.md) makes such lines from exports of other services")
    }
    var file = TokenFile(format)
    for _ in 0..<empty { _ = file.read([]) }
    return file
  }

  private func handle(_ found: ImportedLine) throws(ServiceFailure) {
    let records: TokenRecords?
    do throws(TokenRecords.Problem) {
      records = try self.records(found)
    } catch {
      return report(found.line, error.field == "-" ? nil : error.field, error.text)
    }
    if let records { try produce(records, found.line) }
  }

  private func records(_ found: ImportedLine) throws(TokenRecords.Problem) -> TokenRecords? {
    switch found.item {
    case .token(let token): return try TokenRecords(token, defaults)
    case .object(let bytes): return try TokenRecords(objects.line(bytes), defaults)
    case .problem(let field, let text):
      report(found.line, field, text)
      return nil
    }
  }

  private func produce(_ records: TokenRecords, _ line: Int) throws(ServiceFailure) {
    guard let output else {
      if records.device != nil { result.devices += 1 }
      if records.feedback != nil { result.invalid += 1 }
      return
    }
    if let record = records.device {
      while !offer(line, { () throws(KafkaError) in try output.produce(record, line: line) }) {
        if try !waitForRoom() { return }
      }
    }
    if let record = records.feedback {
      while !offer(line, { () throws(KafkaError) in try output.produce(record, line: line) }) {
        if try !waitForRoom() { return }
      }
    }
  }

  /// - Returns: False if the queue is full.
  private func offer(_ line: Int, _ produce: () throws(KafkaError) -> Bool) -> Bool {
    do throws(KafkaError) {
      return try produce()
    } catch {
      refuse(line, error)
      return true
    }
  }

  /// - Returns: False if a stop was requested meanwhile.
  private func waitForRoom() throws(ServiceFailure) -> Bool {
    usleep(1_000)
    try drain("waiting for Kafka")
    return !context.signals.isStopping
  }

  private func report(_ line: Int, _ field: String?, _ text: String) {
    result.problems += 1
    guard result.problems <= Self.reportedProblems else { return }
    progress?.end()
    StandardError.line(TerminalText.plain("line \(line): \(field.map { "\($0): " } ?? "")\(text)"))
  }

  private func refuse(_ line: Int, _ error: KafkaError) {
    result.refused += 1
    progress?.end()
    StandardError.line("line \(line) was not produced: \(error)")
  }

  private func takeProgress(of output: TokenProducer) {
    let taken = output.drainProgress()
    result.devices += taken.devices
    result.invalid += taken.invalid
    for (line, error) in taken.refused { refuse(line, error) }
  }

  private func drain(_ note: String) throws(ServiceFailure) {
    if let output {
      takeProgress(of: output)
      try watch?.look(output.standing, &progress)
    }
    progress?.update(count: result.devices + result.invalid, fraction: source.fraction, note: note)
  }

  /// Waits for the acknowledgements of what was produced; a second stop signal ends the process anyway.
  private func finish() throws(ServiceFailure) {
    while let output, output.outstanding > 0 {
      output.flush()
      try drain("waiting for Kafka")
    }
    try drain("")
    progress?.end()
  }
}
