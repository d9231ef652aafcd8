// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records

extension FuzzTarget {
  /// A record of the schedule: what is read and written again is the same, and no time in it overflows; a refusal has
  /// words.
  static func schedule() -> FuzzTarget {
    FuzzTarget("schedule") { bytes in
      do throws(RecordError) {
        switch try ScheduleRecord(bytes) {
        case .cancellation(let cancellation):
          let again = cancellation.value
          let read = again.withUnsafeBytes { try? ScheduleRecord($0) }
          return read == .cancellation(cancellation) ? nil : "a cancellation that is another one"
        case .activity(let state):
          let again = state.value(ScheduleRecord.request(in: bytes))
          let read = again.withUnsafeBytes { try? ScheduleRecord($0) }
          return read == .activity(state) ? nil : "an activity that is another one"
        case .request(let request):
          var buffer = ByteBuffer()
          Array(request.traceParent.utf8).withUnsafeBytes {
            request.append(to: &buffer, traceParent: $0, request: ScheduleRecord.request(in: bytes))
          }
          guard try ScheduleRecord(buffer.bytes) == .request(request) else {
            return "a request that is another one"
          }
          return request.due >= 0 && request.accepted >= 0 ? nil : "a time below 0"
        }
      } catch {
        return error.description.isEmpty ? "refused without words" : nil
      }
    }
  }
}
