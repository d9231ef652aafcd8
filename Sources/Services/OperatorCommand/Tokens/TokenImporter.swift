// SPDX-License-Identifier: Apache-2.0
import CommandKit
import EventLoop
import Glibc
import Kafka
import ServiceKit
import Telemetry
import TokenFiles

/// Reads a file of device tokens and produces what follows. Memory does not grow with the file.
final class TokenImporter {
  private static let reportedProblems = 20

  private let source: LineSource
  private let settings: TokensImportCommand.Settings
  private let output: TokenProducer?
  private let context: ServiceContext
  private let defaults: TokenDefaults
  private let objects = TokenObjects()
  private var format: TokenFileFormat?
  private var progress: ProgressLine?
  private var result = TokenImportResult()

  /// - Parameter output: nil: nothing is produced.
  init(
    _ source: LineSource, _ settings: TokensImportCommand.Settings, _ output: TokenProducer?,
    _ context: ServiceContext
  ) {
    self.source = source
    self.settings = settings
    self.output = output
    self.context = context
    defaults = settings.defaults
    format = settings.format
    progress = settings.showsProgress ? ProgressLine("tokens import", unit: "tokens") : nil
    result.isDry = output == nil
  }

  func run() throws(ServiceFailure) -> TokenImportResult {
    let start = MonotonicClock.milliseconds()
    defer { output?.close() }
    var file: TokenFile?
    var lines = 0
    while !context.signals.isStopping, let bytes = try source.next() {
      let line = Array(bytes)
      if file == nil, !line.allSatisfy({ $0 <= 0x20 }) { file = begin(line, after: lines) }
      for found in file?.read(line, endsLine: !source.isCut) ?? [] { handle(found) }
      lines += 1
      if lines % 64 == 0 { drain("") }
    }
    result.wasStopped = context.signals.isStopping
    if !result.wasStopped { for found in file?.finish() ?? [] { handle(found) } }
    finish()
    result.milliseconds = MonotonicClock.milliseconds() - start
    if result.problems > Self.reportedProblems {
      StandardError.line("… and \(result.problems - Self.reportedProblems) more like these")
    }
    return result
  }

  /// The file from its first line that is not empty on.
  private func begin(_ line: [UInt8], after empty: Int) -> TokenFile {
    let format = format ?? TokenFileFormat(firstLine: line)
    self.format = format
    var file = TokenFile(format, table: settings.deviceTable)
    for _ in 0..<empty { _ = file.read([]) }
    return file
  }

  private func handle(_ found: ImportedLine) {
    do throws(TokenRecords.Problem) {
      switch found.item {
      case .token(let token): try produce(token, found.line)
      case .object(let bytes):
        let token = format == .parse ? try objects.installation(bytes) : try objects.line(bytes)
        guard let token else {
          result.skipped += 1
          return
        }
        try produce(token, found.line)
      case .skipped: result.skipped += 1
      case .problem(let field, let text): report(found.line, field, text)
      }
    } catch {
      report(found.line, error.field == "-" ? nil : error.field, error.text)
    }
  }

  private func produce(_ token: ImportedToken, _ line: Int) throws(TokenRecords.Problem) {
    let records = try TokenRecords(token, defaults)
    guard let output else {
      if records.device != nil { result.devices += 1 }
      if records.feedback != nil { result.invalid += 1 }
      return
    }
    do throws(KafkaError) {
      if let record = records.device {
        while try !output.produce(record, line: line) { if !waitForRoom() { return } }
      }
      if let record = records.feedback {
        while try !output.produce(record, line: line) { if !waitForRoom() { return } }
      }
    } catch {
      refuse(line, error)
    }
  }

  /// - Returns: false when a stop was requested meanwhile.
  private func waitForRoom() -> Bool {
    usleep(1_000)
    drain("waiting for Kafka")
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

  private func drain(_ note: String) {
    if let taken = output?.drainProgress() {
      result.devices += taken.devices
      result.invalid += taken.invalid
      for (line, error) in taken.refused { refuse(line, error) }
    }
    progress?.update(
      count: result.devices + result.invalid, fraction: source.fraction, note: note)
  }

  /// Waits for the answers to what was produced; a second stop signal ends the process anyway.
  private func finish() {
    while let output, output.outstanding > 0 {
      output.flush()
      drain("waiting for Kafka")
    }
    drain("")
    progress?.end()
  }
}
